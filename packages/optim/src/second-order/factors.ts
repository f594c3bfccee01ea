import { add, eq, gt, mul, select, variable } from '@mercer/formula';
import { empty, eye, full, map, type Scope, type Tensor } from '@mercer/tensor';
import type { RuleRefresh, RuleStep, SlotOf } from '../rule.js';
import { gramOf } from './along-axes.js';
import { partOf, type Cut, type Group, type Member, countOf } from './blocks.js';
import type { DeviceNumber, UpdatedLeaf } from '../update.js';
import { SAME } from './moves.js';

/*
 * Kronecker factors: for each axis of each block a symmetric matrix, and what is computed from it. In the state they stand beside their parameter, (count, size, size) for
 * the blocks of a class; work is done on those of a group together.
 */

/** An axis of the blocks of a group that has factors. */
export interface Mode {
  /** The place of the group. */
  readonly group: number;
  readonly axis: number;
  readonly size: number;
  readonly count: number;
  readonly dtype: 'float32' | 'float64';
  readonly members: readonly ModeMember[];
}

/** Blocks of a parameter along an axis. */
interface ModeMember extends Member {
  readonly axis: number;
}

/** @param isFactored whether an axis of an extent has a factor */
export const modesOf = (
  groups: readonly Group[],
  isFactored: (sizes: readonly number[], axis: number) => boolean,
): readonly Mode[] =>
  groups.flatMap(({ sizes, count, dtype, members }, group) =>
    sizes.flatMap((size, axis) =>
      isFactored(sizes, axis)
        ? [
            {
              group,
              axis,
              size,
              count,
              dtype,
              members: members.map((one) => ({ ...one, axis })),
            },
          ]
        : [],
    ),
  );

/** The same with modes together that are alike, of all groups and axes: what is computed of factors alone is computed at once. */
export function mergedModes(
  modes: readonly Mode[],
  isLike: (one: Mode, other: Mode) => boolean,
): readonly Mode[] {
  const merged: Mode[] = [];
  for (const mode of modes) {
    const at = merged.findIndex(
      (one) => one.size === mode.size && one.dtype === mode.dtype && isLike(one, mode),
    );
    const before = merged[at];
    if (before === undefined) {
      merged.push(mode);
      continue;
    }
    const { count } = before;
    const moved = mode.members.map((one) => ({
      ...one,
      from: one.from + count,
      to: one.to + count,
    }));
    merged[at] = {
      ...before,
      count: count + mode.count,
      members: [...before.members, ...moved],
    };
  }
  return merged;
}

/** A slot of an axis of the blocks of a class. */
export const slotName = (slot: string, place: number, axis: number): string =>
  `${slot}${place}.${axis}`;

/** The slots of a parameter's factors: matrices by name, which begin with zeros or the identity, and `failures`, a count for each matrix. */
export function factorSlots(
  param: Tensor,
  dtype: 'float32' | 'float64',
  cut: Cut,
  isFactored: (sizes: readonly number[], axis: number) => boolean,
  matrices: Readonly<Record<string, 'zeros' | 'identity'>>,
): Readonly<Record<string, SlotOf>> {
  const slots: Record<string, SlotOf> = {};
  for (const [place, blocks] of cut.classes.entries()) {
    const count = countOf(blocks);
    for (const [axis, size] of blocks.sizes.entries()) {
      if (!isFactored(blocks.sizes, axis)) continue;
      const shape = [count, size, size];
      for (const [slot, first] of Object.entries(matrices)) {
        slots[slotName(slot, place, axis)] = {
          shape,
          dtype,
          ...(first === 'identity' && { begin: () => identities(param, shape, dtype) }),
        };
      }
      slots[slotName('failures', place, axis)] = { shape: [count], dtype: 'int32' };
    }
  }
  return slots;
}

async function identities(
  { device }: Tensor,
  shape: readonly number[],
  dtype: 'float32' | 'float64',
): Promise<Tensor> {
  using one = await eye(shape.at(-1) ?? 0, { dtype, device });
  using all = one.broadcastTo(shape);
  return await all.clone();
}

/** A slot of each member of a mode. */
export const slotsOf = (
  { members }: Mode,
  slot: string,
  leaves: readonly UpdatedLeaf[],
): readonly Tensor[] =>
  members.map(
    ({ leaf, place, axis }) =>
      (leaves[leaf] as UpdatedLeaf).slots[slotName(slot, place, axis)] as Tensor,
  );

/** Tensors (count, ..) of a group as parts of its members. */
const partsOf = (scope: Scope, { members }: Mode, whole: Tensor): readonly Tensor[] =>
  members.map((one) => partOf(scope, whole, one));

/** The slots of each mode as one tensor: the slot itself where there is one. */
export async function joined(
  scope: Scope,
  modes: readonly Mode[],
  slot: string,
  leaves: readonly UpdatedLeaf[],
  stream = (leaves[0] as UpdatedLeaf).param.device.defaultStream,
): Promise<readonly Tensor[]> {
  const from: Tensor[] = [];
  const to: Tensor[] = [];
  const all = modes.map((mode) => {
    const slots = slotsOf(mode, slot, leaves);
    const [first] = slots as [Tensor];
    if (slots.length === 1) return first;
    const whole = scope.track(
      empty([mode.count, ...first.shape.slice(1)], { dtype: mode.dtype, device: first.device }),
    );
    from.push(...slots);
    to.push(...partsOf(scope, mode, whole));
    return whole;
  });
  if (from.length > 0) await map(SAME, { x: from }, { out: to, stream });
  return all;
}

const v = variable;
const isTaken = gt(v('ok'), 0);
const DECAYED = select(isTaken, add(mul(v('beta'), v('l')), mul(v('share'), v('s'))), v('l'));

/** L = beta L + share G Gᵀ for every factor, where the step is taken. Products of the blocks of a group are one for each axis; the rest is one launch. */
export async function updateFactors(
  scope: Scope,
  modes: readonly Mode[],
  batches: readonly Tensor[],
  { leaves, numbers }: RuleStep,
  parameters: { readonly beta: number; readonly share: number },
): Promise<void> {
  const [l, s, ok]: [Tensor[], Tensor[], Tensor[]] = [[], [], []];
  for (const mode of modes) {
    const whole = await gramOf(scope, batches[mode.group] as Tensor, mode.axis);
    l.push(...slotsOf(mode, 'factor', leaves));
    s.push(...partsOf(scope, mode, whole));
    for (const _ of mode.members) ok.push(numbers.ok[mode.dtype] as Tensor);
  }
  if (l.length > 0) await map(DECAYED, { l, s, ok }, { out: l, parameters });
}

const CORRECTED = mul(v('x'), v('correction'));

/**
 * The factors as they are now, for a refresh: one tensor for each mode; or, where it takes effect later, in the slots `pending`, which nothing writes until then.
 *
 * @param correction what they are multiplied by
 */
export async function snapshot(
  scope: Scope,
  modes: readonly Mode[],
  { leaves }: Pick<RuleRefresh, 'leaves'>,
  isLater: boolean,
  correction?: DeviceNumber,
): Promise<readonly Tensor[] | undefined> {
  const lists = { x: [] as Tensor[], correction: [] as Tensor[] };
  const out: Tensor[] = [];
  const { device } = (leaves[0] as UpdatedLeaf).param;
  const batches = modes.map((mode) => {
    const { count, size, dtype, members } = mode;
    lists.x.push(...slotsOf(mode, 'factor', leaves));
    for (const _ of members) lists.correction.push(correction?.[dtype] as Tensor);
    if (isLater) {
      out.push(...slotsOf(mode, 'pending', leaves));
      return undefined;
    }
    const whole = scope.track(empty([count, size, size], { dtype, device }));
    out.push(...partsOf(scope, mode, whole));
    return whole;
  });
  if (out.length > 0) {
    if (correction === undefined) await map(SAME, { x: lists.x }, { out });
    else await map(CORRECTED, lists, { out });
  }
  return isLater ? undefined : (batches as readonly Tensor[]);
}

/** What was computed from the factors of a mode. */
export interface ModeResult {
  /** (count, size, size), by slot. */
  readonly matrices: Readonly<Record<string, Tensor>>;
  /** (count): not 0 where there is no result. */
  readonly infos: Tensor;
  /** (count): 0 where the factor has only zeros, whose results are left as they are. */
  readonly extents: Tensor;
}

// what has failed, and factors without a gradient yet, keep what was there before
const isNew = eq(v('info'), 0);
const TAKEN = select(isNew, select(gt(v('extent'), 0), v('y'), v('x')), v('x'));
const FAILURES = select(isNew, 0, add(v('failures'), 1));

/**
 * Puts results in their slots; where there is none the old ones stay, and are counted.
 *
 * @returns how often in a row a matrix had none, of the one with most: 0-d, for the caller to dispose
 */
export async function land(
  scope: Scope,
  modes: readonly Mode[],
  results: readonly ModeResult[],
  { leaves }: Pick<RuleRefresh, 'leaves'>,
): Promise<Tensor> {
  const { device } = (leaves[0] as UpdatedLeaf).param;
  if (modes.length === 0) return await full([], 0, { device });
  const lists = {
    x: [] as Tensor[],
    y: [] as Tensor[],
    info: [] as Tensor[],
    extent: [] as Tensor[],
  };
  const total = modes.reduce((sum, { count }) => sum + count, 0);
  // all counts beside each other, for their maximum
  const all = scope.empty([total], { dtype: 'float32', device });
  const counts = { failures: [] as Tensor[], info: [] as Tensor[] };
  const copies: Tensor[] = [];
  let from = 0;
  for (const [at, mode] of modes.entries()) {
    const { matrices, infos, extents } = results[at] as ModeResult;
    const column = (of: Tensor): Tensor => scope.track(of.reshape([mode.count, 1, 1]));
    for (const [slot, whole] of Object.entries(matrices)) {
      lists.x.push(...slotsOf(mode, slot, leaves));
      lists.y.push(...partsOf(scope, mode, whole));
      lists.info.push(...partsOf(scope, mode, column(infos)));
      lists.extent.push(...partsOf(scope, mode, column(extents)));
    }
    counts.failures.push(...slotsOf(mode, 'failures', leaves));
    counts.info.push(...partsOf(scope, mode, infos));
    const own = scope.track(all.slice([from, from + mode.count]));
    copies.push(...partsOf(scope, mode, own));
    from += mode.count;
  }
  await map(TAKEN, lists, { out: lists.x });
  const out = { failures: counts.failures, copy: copies };
  await map({ failures: FAILURES, copy: FAILURES }, counts, { out });
  return await all.max();
}
