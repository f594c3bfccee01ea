import { describeValue } from '@mercer/options';
import { PlanError } from '../../plan-error.js';

/** Rows from `start` up to and without `end`. */
export type RowRange = readonly [start: number, end: number];

/**
 * Which kept rows are reduced over which rows, in KeOps' form: the rows of `rangesI[k]` over those of
 * `redrangesJ[slicesI[k - 1]]` to `redrangesJ[slicesI[k] - 1]` (from 0 for k = 0). The ranges that are met may be another list of
 * them, such as a table on a device.
 */
export interface KeptRanges<Met = readonly RowRange[]> {
  readonly rangesI: readonly RowRange[];
  readonly slicesI: readonly number[];
  readonly redrangesJ: Met;
}

/** Both directions: the last three serve a reduction over i. */
export interface Ranges<Met = readonly RowRange[]> extends KeptRanges<Met> {
  readonly rangesJ: readonly RowRange[];
  readonly slicesJ: readonly number[];
  readonly redrangesI: Met;
}

/**
 * The ranges of a block-sparse reduction: block (k, l), the rows of `rangesI[k]` with those of `rangesJ[l]`,
 * counts where `keep[k][l]` is true. Throws a `PlanError` where `keep` has another shape.
 *
 * ```ts
 * import { rangesFromMatrix } from '@mercer/kernels';
 * const halves = [[0, 50], [50, 100]] as const;
 * const { slicesI, redrangesJ } = rangesFromMatrix(halves, halves, [[true, false], [true, true]]);
 * console.log(slicesI, redrangesJ); // [ 1, 3 ] [ [ 0, 50 ], [ 0, 50 ], [ 50, 100 ] ]
 * ```
 */
export function rangesFromMatrix(
  rangesI: readonly RowRange[],
  rangesJ: readonly RowRange[],
  keep: readonly (readonly (boolean | number)[])[],
): Ranges {
  const lists: Readonly<Record<string, unknown>> = { rangesI, rangesJ, keep };
  for (const [name, list] of Object.entries(lists)) {
    if (Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null))
      continue;
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot build ranges: '${name}' is ${describeValue(list)}. Pass an array of arrays.`,
    );
  }
  const wrong = keep.find((row) => row.length !== rangesJ.length);
  if (keep.length !== rangesI.length || wrong !== undefined) {
    const found = `${keep.length} rows${wrong === undefined ? '' : `, one of ${wrong.length}`}`;
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot build ranges: ${rangesI.length} ranges of i and ${rangesJ.length} of j, and 'keep' has ${found}. ` +
        `Pass a row for every range of i with an entry for every range of j.`,
    );
  }
  const i = chosen(rangesI, rangesJ, (k, l) => Boolean(keep[k]?.[l]));
  const j = chosen(rangesJ, rangesI, (l, k) => Boolean(keep[k]?.[l]));
  return {
    rangesI,
    slicesI: i.slices,
    redrangesJ: i.redranges,
    rangesJ,
    slicesJ: j.slices,
    redrangesI: j.redranges,
  };
}

function chosen(
  kept: readonly RowRange[],
  reduced: readonly RowRange[],
  counts: (k: number, l: number) => boolean,
): { readonly slices: readonly number[]; readonly redranges: readonly RowRange[] } {
  const slices: number[] = [];
  const redranges: RowRange[] = [];
  for (const k of kept.keys()) {
    for (const [l, range] of reduced.entries()) if (counts(k, l)) redranges.push(range);
    slices.push(redranges.length);
  }
  return { slices, redranges };
}

const NAMES = ['rangesI', 'slicesI', 'redrangesJ', 'rangesJ', 'slicesJ', 'redrangesI'] as const;

/**
 * The ranges with i and j exchanged: those of a reduction over i in the place of those over j. Throws a `PlanError` where one of both
 * directions is missing.
 */
export function swapAxes<Met>(ranges: Ranges<Met>): Ranges<Met> {
  const given = Object(ranges) as Readonly<Record<string, unknown>>;
  const missing = NAMES.filter((name) => !Object.hasOwn(given, name) || given[name] === undefined);
  if (missing.length > 0) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot exchange the axes of ranges: there is no ${missing.join(', ')}. Make ranges of both directions with rangesFromMatrix.`,
    );
  }
  return {
    rangesI: ranges.rangesJ,
    slicesI: ranges.slicesJ,
    redrangesJ: ranges.redrangesI,
    rangesJ: ranges.rangesI,
    slicesJ: ranges.slicesI,
    redrangesI: ranges.redrangesJ,
  };
}

/** How many pairs of rows ranges hold, a row and each that it meets. Ranges that do not fit the rows are not refused. */
export function pairsInRanges({ rangesI, slicesI, redrangesJ }: KeptRanges): number {
  let pairs = 0;
  for (const [k, [start, end]] of rangesI.entries()) {
    const met = redrangesJ.slice(slicesI[k - 1] ?? 0, slicesI[k]);
    pairs += (end - start) * met.reduce((rows, [from, until]) => rows + until - from, 0);
  }
  return pairs;
}
