import type { Scope, Tensor } from '@mercer/tensor';
import type { UpdatedLeaf } from '../update.js';
import { copyAll, inWholes, type Group } from './blocks.js';
import { rowMajor } from './gradients.js';

/** The parameters of a step as blocks: each member of a group is a leaf, whose tensors are views of its blocks. */
export interface BlockLeaves {
  readonly leaves: readonly UpdatedLeaf[];
  /** Puts parameters where they belong whose elements are not in the order of their indices: they were updated in copies. */
  finish(): Promise<void>;
}

/** @param slots names of those that have the parameter's shape; a master comes beside */
export async function blockLeaves(
  scope: Scope,
  groups: readonly Group[],
  leaves: readonly UpdatedLeaf[],
  slots: readonly string[],
): Promise<BlockLeaves> {
  const params = leaves.map(({ param }) => param);
  const rows = await rowMajor(scope, params);
  const views = inWholes(scope, groups, rows);
  const members = groups.flatMap((group) => group.members.map((one) => one.leaf));
  const ofSlots = Object.fromEntries(
    [...slots, 'master'].map((name) => {
      const present = leaves.map((leaf, at) => leaf.slots[name] ?? (rows[at] as Tensor));
      return [name, inWholes(scope, groups, present)];
    }),
  );
  return {
    leaves: members.map((leaf, at) => {
      const { name, slots: own } = leaves[leaf] as UpdatedLeaf;
      const entries = Object.entries(ofSlots).flatMap(([slot, all]) =>
        slot in own ? [[slot, all[at] as Tensor] as const] : [],
      );
      return { name, param: views[at] as Tensor, slots: Object.fromEntries(entries) };
    }),
    async finish() {
      const moved = params.flatMap((param, at) => (rows[at] === param ? [] : [at]));
      await copyAll(
        moved.map((at) => rows[at] as Tensor),
        moved.map((at) => params[at] as Tensor),
      );
    },
  };
}
