import { add, gt, mul, select, variable, type RealExpr } from '@mercer/formula';
import { map, type Scope, type Tensor } from '@mercer/tensor';
import type { RuleStep } from '../rule.js';
import { stateDType, type DeviceNumber, type UpdatedLeaf } from '../update.js';
import { emptyBatches, emptyLike, inBatches, inWholes, type Group } from './blocks.js';

const v = variable;
const isTaken = gt(v('ok'), 0);
/** The gradient, 0 where the step is not taken, so that products of it are finite. */
const GRADIENTS = new Map<string, RealExpr>();
for (const [key, scaled] of [
  ['plain', v('g')],
  ['scaled', mul(v('g'), v('factor'))],
] as const) {
  GRADIENTS.set(key, select(isTaken, scaled, 0));
  GRADIENTS.set(`${key} decayed`, select(isTaken, add(scaled, mul(v('decay'), v('p'))), 0));
}

/** A number of the device for each leaf, in the dtype of its state. */
export const forEach = (leaves: readonly UpdatedLeaf[], number: DeviceNumber): readonly Tensor[] =>
  leaves.map(({ param }) => number[stateDType(param)] as Tensor);

/** A parameter in the dtype of its state: itself, or its master. */
export const stateOf = ({ param, slots }: UpdatedLeaf): Tensor => slots['master'] ?? param;

/**
 * Gradients as tensors of their own, row-major and in the dtype of the state: clipped, with the parameter times `decay` added, and 0 where the step is not
 * taken. One launch.
 */
export async function ownGradients(
  scope: Scope,
  step: Pick<RuleStep, 'leaves' | 'numbers'>,
  decay: number,
): Promise<readonly Tensor[]> {
  const { leaves } = step;
  const out = emptyLike(
    scope,
    leaves.map(({ param }) => param),
  );
  const g = leaves.map(({ grad }) => grad);
  await writeGradients(step, { leaves, g, p: leaves.map(stateOf), out }, decay);
  return out;
}

/** The same as the blocks of each group: (count, ..sizes). */
export async function gradientBlocks(
  scope: Scope,
  groups: readonly Group[],
  step: Pick<RuleStep, 'leaves' | 'numbers'>,
  decay: number,
): Promise<readonly Tensor[]> {
  const { device } = (step.leaves[0] as UpdatedLeaf).param;
  const batches = emptyBatches(scope, groups, device);
  const inRows = async (all: readonly Tensor[]): Promise<readonly Tensor[]> =>
    inWholes(scope, groups, await rowMajor(scope, all));
  const g = await inRows(step.leaves.map(({ grad }) => grad));
  const p = decay > 0 ? await inRows(step.leaves.map(stateOf)) : [];
  const out = inBatches(scope, groups, batches);
  const leaves = groups.flatMap(({ members }) =>
    members.map(({ leaf }) => step.leaves[leaf] as UpdatedLeaf),
  );
  await writeGradients(step, { leaves, g, p, out }, decay);
  return batches;
}

/** Writes the gradients of some leaves, in one launch: each `g` to its `out`, `p` being the parameter. */
export async function writeGradients(
  { numbers }: Pick<RuleStep, 'numbers'>,
  {
    leaves,
    g,
    p,
    out,
  }: {
    readonly leaves: readonly UpdatedLeaf[];
    readonly g: readonly Tensor[];
    readonly p: readonly Tensor[];
    readonly out: readonly Tensor[];
  },
  decay: number,
): Promise<void> {
  if (out.length === 0) return;
  const { factor } = numbers;
  const key = `${factor === undefined ? 'plain' : 'scaled'}${decay > 0 ? ' decayed' : ''}`;
  await map(
    GRADIENTS.get(key) as RealExpr,
    {
      g,
      ok: forEach(leaves, numbers.ok),
      ...(factor && { factor: forEach(leaves, factor) }),
      ...(decay > 0 && { p }),
    },
    { out, parameters: decay > 0 ? { decay } : {} },
  );
}

/** Tensors whose elements lie in the order of their indices: they themselves, or copies. */
export async function rowMajor(scope: Scope, all: readonly Tensor[]): Promise<readonly Tensor[]> {
  const rows: Tensor[] = [];
  for (const one of all) {
    rows.push(one.isContiguous ? one : scope.track(await one.contiguous()));
  }
  return rows;
}

/** Leaves with some of their slots, and their master. */
export const withSlots = (
  leaves: readonly UpdatedLeaf[],
  names: readonly string[],
): readonly UpdatedLeaf[] =>
  leaves.map((leaf) => ({
    ...leaf,
    slots: Object.fromEntries(
      [...names, 'master'].flatMap((name) => {
        const slot = leaf.slots[name];
        return slot === undefined ? [] : [[name, slot]];
      }),
    ),
  }));

/** Formulas that keep what they write where the step is not taken, but for results that are made for the step. */
export const keeping = (
  formulas: Readonly<Record<string, RealExpr>>,
): Readonly<Record<string, RealExpr>> =>
  Object.fromEntries(
    Object.entries(formulas).map(([name, one]) => [name, select(isTaken, one, v(name))]),
  );
