import { type CudaGeometry, type Scalars, scalar } from '../emitted-kernel.js';
import { upTo } from '../emit/text.js';
import type { SharedDim } from './collapse-dims.js';
import { lanesOf } from './cuda-packs.js';
import { dividedDims, mapResults } from './map-params.js';
import type { MapPlan, StridedWalk } from './map-plan-types.js';

/** Threads of a block. */
export const THREADS = 256;

/** Rows that a thread reads before it computes, of packs and of single elements: so much is on its way at once. */
const ROWS_AT_ONCE = { packs: 2, elements: 4 } as const;
/** Elements of inputs that a thread holds at once. */
const MOST_HELD = 64;

/** Where no place is further, neither it nor the steps of a grid leave 32 bits. */
const NARROW = 2 ** 31 - 2 ** 27;
/** Rows of so many packs are worth it where they are not whole packs: a last part may be one element shorter than the others. */
const LEAST_PACKS = 4;

/** Packs of a block along a row where an input runs across the rows: 64 threads read what lies together, and rows are written in 64 bytes. */
const PACKS_ACROSS = 4;
/** The same where a row is not whole packs, so that threads beside each other write elements beside each other. */
const COLUMNS_ACROSS = 16;

/** From so many blocks on, which are several waves of a large GPU, a thread has several rows. */
const SEVERAL_WAVES = 8192;
/** More blocks than this even out nothing: each has more rows instead, so that what it begins with costs little. */
const ENOUGH_BLOCKS = 16384;

/** Of a map over collapsed dimensions, the operands of which are first the results. */
export function walkOf(plan: MapPlan, dims: readonly SharedDim[]): StridedWalk {
  const places = dims.reduce((count, { extent }) => count * extent, 1);
  const reaches = (dims[0]?.strides ?? []).map((_, k) =>
    dims.reduce(
      (reach, { extent, strides }) => reach + (extent - 1) * Math.abs(strides[k] ?? 0),
      0,
    ),
  );
  const inner = dims.at(-1)?.extent ?? 1;
  const lanes = lanesOf(plan);
  const isWorthIt =
    inner >= LEAST_PACKS * lanes ||
    isWhole(
      inner,
      dims.map(({ strides }) => strides[0] ?? 0),
      lanes,
    );
  const isNarrow = Math.max(places, ...reaches) < NARROW;
  return Object.freeze({
    lanes: isWorthIt || !isNarrow ? lanes : 1,
    index: isNarrow ? 'i32' : 'i64',
  });
}

/** Of a kernel that does several maps: what suits the largest of them is right for all. */
export function walkOfAll(walks: readonly StridedWalk[]): StridedWalk | undefined {
  if (walks.length === 0) return undefined;
  return Object.freeze({
    lanes: Math.max(...walks.map(({ lanes }) => lanes)),
    index: walks.some(({ index }) => index === 'i64') ? 'i64' : 'i32',
  });
}

/** The plans of a map that lies alike and has other sizes: with each other walk. */
export function otherWalks(plan: MapPlan): readonly MapPlan[] {
  const { walk } = plan;
  if (walk === undefined) return [];
  const lanes = lanesOf(plan);
  const walks: readonly StridedWalk[] = [
    { lanes, index: 'i32' },
    ...(lanes > 1 ? [{ lanes: 1, index: 'i32' } as const] : []),
    { lanes, index: 'i64' },
  ];
  return walks
    .filter((one) => one.lanes !== walk.lanes || one.index !== walk.index)
    .map((one) => Object.freeze({ ...plan, walk: Object.freeze(one) }));
}

/** Whether rows of so many elements are whole packs of a result with these strides, whose memory may be aligned. */
function isWhole(inner: number, strides: readonly number[], lanes: number): boolean {
  const before = strides.slice(0, -1);
  return inner % lanes === 0 && strides.at(-1) === 1 && before.every((one) => one % lanes === 0);
}

/**
 * Dimensions for a GPU, in an order in which reads are coalesced: where an input runs across the rows, the dimension along which it is contiguous comes next to the last.
 *
 * @param results how many of the operands are results
 */
export function coalescedDims(dims: readonly SharedDim[], results: number): readonly SharedDim[] {
  const inner = dims.at(-1);
  const across = inner?.strides.findIndex((stride, k) => k >= results && Math.abs(stride) > 1);
  if (inner === undefined || across === undefined || across < 0) return dims;
  const rows = dims.findIndex(({ strides }) => Math.abs(strides[across] ?? 0) === 1);
  if (rows < 0) return dims;
  return [
    ...dims.filter((_, i) => i !== rows && i !== dims.length - 1),
    dims[rows] as SharedDim,
    inner,
  ];
}

/** Rows that a thread of a map reads before it computes. */
export function rowsAtOnce({ rank, walk, inputs }: MapPlan): number {
  if (rank === 1) return 1;
  const lanes = walk?.lanes ?? 1;
  let rows: number = lanes === 1 ? ROWS_AT_ONCE.elements : ROWS_AT_ONCE.packs;
  while (rows > 1 && rows * lanes * inputs.length > MOST_HELD) rows /= 2;
  return rows;
}

/** How blocks of threads lie over the rows of a map: `width` threads along a row, `across` blocks beside each other, of `span` rows each. */
export interface StridedTiles {
  readonly width: number;
  readonly across: number;
  readonly rows: number;
  readonly span: number;
}

export function stridedTiles(plan: MapPlan, scalars: Scalars): StridedTiles {
  const lanes = plan.walk?.lanes ?? 1;
  const last = plan.rank - 1;
  const dim = (prefix: string): number[] =>
    upTo(plan.rank).map((i) => scalar(scalars, prefix + String(i)));
  const extents = dim('n');
  const inner = extents[last] ?? 1;
  const packs = Math.ceil(inner / lanes);
  const rows = extents.slice(0, -1).reduce((product, one) => product * one, 1);
  const [first] = mapResults(plan);
  const isAcross = plan.inputs.some((_, k) => Math.abs(scalar(scalars, `s${k}_${last}`)) > 1);
  const whole = isWhole(inner, dim(first?.stride ?? ''), lanes);
  const mostAcross = !isAcross ? THREADS : whole ? PACKS_ACROSS : COLUMNS_ACROSS;
  const across = Math.ceil(packs / mostAcross);
  const width = Math.ceil(packs / across);
  const height = Math.floor(THREADS / width);
  const steps = Math.ceil(rows / height);
  const isLarge = steps * across >= SEVERAL_WAVES;
  const atOnce = isLarge ? rowsAtOnce(plan) : 1;
  const most = isLarge ? Math.ceil(ENOUGH_BLOCKS / across) : steps;
  const span = height * atOnce * Math.ceil(steps / (most * atOnce));
  return { width, across, rows, span };
}

/** The numbers of a launch that follow from a map's extents, beside these. */
export const walkScalars = (plan: MapPlan, scalars: Scalars): Scalars => ({
  span: stridedTiles(plan, scalars).span,
  ...Object.fromEntries(
    dividedDims(plan).map((i) => [
      `inverse${i}`,
      Math.floor((2 ** 32 - 1) / scalar(scalars, `n${i}`)),
    ]),
  ),
});

/** Of a map alone, in blocks of as many rows as its numbers say. */
export function stridedGeometry(plan: MapPlan, scalars: Scalars): CudaGeometry {
  const { width, across, rows } = stridedTiles(plan, scalars);
  return {
    grid: [across, Math.ceil(rows / scalar(scalars, 'span')), 1],
    block: [width, Math.floor(THREADS / width), 1],
    sharedMemBytes: 0,
  };
}
