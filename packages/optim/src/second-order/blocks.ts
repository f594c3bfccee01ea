import { empty, map, type Device, type Scope, type Tensor } from '@mercer/tensor';
import { sizeOfShape } from '@mercer/tensor/operation';
import { stateDType } from '../update.js';
import { SAME } from './moves.js';

/** The tensors of one parameter that are cut alike: blocks of one shape, at a grid of places. */
export interface BlockClass {
  /** Where they lie along each axis of the parameter's merged shape. */
  readonly ranges: readonly (readonly [start: number, end: number])[];
  /** How many there are along each axis. */
  readonly counts: readonly number[];
  /** The shape of each. */
  readonly sizes: readonly number[];
}

/** How a parameter is cut. */
export interface Cut {
  /** Its shape with small axes merged; no axis has extent 1 but a single one. */
  readonly merged: readonly number[];
  readonly classes: readonly BlockClass[];
}

/** How parameters are cut. */
export interface Cutting {
  /** The most that an axis of a block has. */
  readonly maxDim: number;
  /** The most that axes are merged to; 0: they are not. */
  readonly mergeDim: number;
}

/**
 * A shape whose axes are merged from the last on, while their product is at most `most`: (32, 3, 64, 64) at 8192 is (96, 4096). Axes of extent 1 are left
 * out.
 */
export function mergedShape(shape: readonly number[], most: number): readonly number[] {
  const merged: number[] = [];
  for (const extent of [...shape].reverse()) {
    const last = merged[0];
    if (last !== undefined && last * extent <= Math.max(most, last)) merged[0] = last * extent;
    else if (extent !== 1) merged.unshift(extent);
  }
  return merged.length === 0 ? [1] : merged;
}

/** Blocks of at most `maxDim` along each axis, those of one shape together. An empty parameter has none. */
export function cutOf(shape: readonly number[], { maxDim, mergeDim }: Cutting): Cut {
  const merged = mergedShape(shape, mergeDim);
  if (sizeOfShape(shape) === 0) return { merged: shape, classes: [] };
  let classes: BlockClass[] = [{ ranges: [], counts: [], sizes: [] }];
  for (const extent of merged) {
    const whole = Math.floor(extent / maxDim);
    const rest = extent - whole * maxDim;
    classes = classes.flatMap(({ ranges, counts, sizes }) => [
      ...(whole === 0
        ? []
        : [
            {
              ranges: [...ranges, [0, whole * maxDim] as const],
              counts: [...counts, whole],
              sizes: [...sizes, maxDim],
            },
          ]),
      ...(rest === 0
        ? []
        : [
            {
              ranges: [...ranges, [whole * maxDim, extent] as const],
              counts: [...counts, 1],
              sizes: [...sizes, rest],
            },
          ]),
    ]);
  }
  return { merged, classes };
}

export const countOf = ({ counts }: BlockClass): number => sizeOfShape(counts);

/** Blocks of a group that are of one parameter. */
export interface Member {
  /** The place of the parameter among the leaves. */
  readonly leaf: number;
  /** The place of the class in the parameter's cut. */
  readonly place: number;
  readonly cut: Cut;
  readonly blocks: BlockClass;
  /** Their places in the group. */
  readonly from: number;
  readonly to: number;
}

/** Blocks of one shape and dtype, of all parameters: what is done with them is done with all at once. */
export interface Group {
  readonly sizes: readonly number[];
  readonly dtype: 'float32' | 'float64';
  readonly count: number;
  readonly members: readonly Member[];
}

/** Groups in the order in which their first blocks come. */
export function groupsOf(params: readonly Tensor[], cuts: readonly Cut[]): readonly Group[] {
  const groups = new Map<
    string,
    { -readonly [K in keyof Group]: Group[K] } & { members: Member[] }
  >();
  for (const [leaf, cut] of cuts.entries()) {
    const dtype = stateDType(params[leaf] as Tensor);
    for (const [place, blocks] of cut.classes.entries()) {
      const key = `${dtype} ${blocks.sizes.join()}`;
      let group = groups.get(key);
      if (group === undefined) {
        groups.set(key, (group = { sizes: blocks.sizes, dtype, count: 0, members: [] }));
      }
      const from = group.count;
      group.count += countOf(blocks);
      group.members.push({ leaf, place, cut, blocks, from, to: group.count });
    }
  }
  return [...groups.values()];
}

/** The blocks of a class in a row-major tensor of the parameter's shape: a view (..counts, ..sizes). */
function regionOf(scope: Scope, whole: Tensor, { cut, blocks }: Member): Tensor {
  const merged = scope.track(whole.reshape(cut.merged));
  const part = scope.track(merged.slice(...blocks.ranges));
  const { counts, sizes } = blocks;
  const split = scope.track(
    part.reshape(counts.flatMap((count, axis) => [count, sizes[axis] as number])),
  );
  const rank = counts.length;
  const axes = Array.from({ length: 2 * rank }, (_, k) => (k < rank ? 2 * k : 2 * (k - rank) + 1));
  return scope.track(split.permute(axes));
}

/** What a member has of a tensor (group's count, ..): a view (member's count, ..). */
export const partOf = (scope: Scope, whole: Tensor, { from, to }: Member): Tensor =>
  from === 0 && to === whole.shape[0] ? whole : scope.track(whole.slice([from, to]));

/** Copies tensors to others of their shapes, in one launch. */
export async function copyAll(from: readonly Tensor[], to: readonly Tensor[]): Promise<void> {
  if (from.length > 0) await map(SAME, { x: from }, { out: to });
}

/** Views of the blocks of each group's members in row-major tensors of the parameters' shapes: (..counts, ..sizes). */
export const inWholes = (
  scope: Scope,
  groups: readonly Group[],
  wholes: readonly Tensor[],
): readonly Tensor[] =>
  groups.flatMap(({ members }) =>
    members.map((one) => regionOf(scope, wholes[one.leaf] as Tensor, one)),
  );

/** Views of the same in batches of the groups, (count, ..): (..counts, ..). */
export const inBatches = (
  scope: Scope,
  groups: readonly Group[],
  batches: readonly Tensor[],
): readonly Tensor[] =>
  groups.flatMap(({ members }, at) =>
    members.map((one) => {
      const part = partOf(scope, batches[at] as Tensor, one);
      return scope.track(part.reshape([...one.blocks.counts, ...part.shape.slice(1)]));
    }),
  );

/** A tensor for each group: (count, ..sizes). */
export const emptyBatches = (
  scope: Scope,
  groups: readonly Group[],
  device: Device,
): readonly Tensor[] =>
  groups.map(({ count, sizes, dtype }) => scope.empty([count, ...sizes], { dtype, device }));

/** Tensors of the parameters' shapes, row-major, as the blocks of each group: (count, ..sizes). One launch. */
export async function gathered(
  scope: Scope,
  groups: readonly Group[],
  wholes: readonly Tensor[],
): Promise<readonly Tensor[]> {
  const [first] = wholes;
  if (first === undefined) return [];
  const batches = emptyBatches(scope, groups, first.device);
  await copyAll(inWholes(scope, groups, wholes), inBatches(scope, groups, batches));
  return batches;
}

/** The reverse of {@link gathered}, into row-major tensors of the parameters' shapes. */
export const scattered = (
  scope: Scope,
  groups: readonly Group[],
  batches: readonly Tensor[],
  wholes: readonly Tensor[],
): Promise<void> => copyAll(inBatches(scope, groups, batches), inWholes(scope, groups, wholes));

/** One tensor for each leaf, of its shape and the dtype of its state. */
export const emptyLike = (scope: Scope, params: readonly Tensor[]): readonly Tensor[] =>
  params.map((one) =>
    scope.track(empty([...one.shape], { dtype: stateDType(one), device: one.device })),
  );
