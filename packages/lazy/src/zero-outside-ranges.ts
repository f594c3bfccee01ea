import { indexI, indexJ, ops, reduction as describe } from '@mercer/formula';
import type { KeptRanges, RowRange } from '@mercer/kernels';
import type { SignalOption } from '@mercer/tensor';
import { sidesOf } from '@mercer/tensor/operation';
import type { Derivatives } from './derivatives.js';
import { commonExtent } from './extent.js';
import { nodeAt } from './input.js';
import { WHOLE_UP_TO } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { matrixInput } from './make-input.js';
import { keptRanges, type RangesOption } from './ranges-option.js';
import { listedRanges } from './shards/cut-ranges.js';
import { isOfPairs, type Share } from './shares.js';

/** Starts and ends of spans that a gradient may have in memory. */
const MOST_BOUNDS = 2 ** 28;

/**
 * Derivatives whose shares with a value for every pair are 0 at pairs outside the ranges, whatever the formula is there: it is computed at all pairs,
 * and taken where the reduced row is in a span of the kept one. Shares that are sums stay as they are, since their passes go over the ranges.
 *
 * @throws LazyError INVALID_ARGUMENT for ranges that do not fit the rows; UNSUPPORTED for more reduced rows than the dtype has whole numbers, and for
 * too many spans
 */
export async function zeroOutsideRanges(
  what: string,
  { shares, inputs }: Derivatives,
  ranges: RangesOption,
  options: SignalOption,
): Promise<Derivatives> {
  const one = shares.flat().find(isOfPairs);
  if (one === undefined) return { shares, inputs };
  // all are of the one reduction that is differentiated
  const { axis } = one.reduction;
  const { rowsI = 1, rowsJ = 1, dtype = 'float32' } = commonExtent(what, inputs);
  const rows = sidesOf({ axis }, { rowsI, rowsJ });
  if (rows.reducedRows > WHOLE_UP_TO[dtype]) {
    throw new LazyError(
      'UNSUPPORTED',
      `${what}: a gradient with a value for every pair compares row numbers with the ranges, and ${dtype} has whole numbers up to ${WHOLE_UP_TO[dtype]}; the reduced side has ${rows.reducedRows} rows. Compute it in float64.`,
    );
  }
  const listed = await listedRanges(what, keptRanges(what, { axis }, ranges), rows, options);
  const spans = matrixInput(what, spansOfRows(what, listed, rows), axis === 1 ? 'i' : 'j', 'spans');
  const row = axis === 1 ? indexJ : indexI;
  const bounds = nodeAt(spans, inputs.length);
  const width = spans.dim / 2;
  const [starts, ends] = [ops.extract(bounds, 0, width), ops.extract(bounds, width, width)];
  const isMet = ops.sum(ops.mul(ops.lessOrEqual(starts, row), ops.lessThan(row, ends)));
  return {
    inputs: [...inputs, spans],
    shares: shares.map((list) =>
      list.map((share): Share => {
        if (!isOfPairs(share)) return share;
        const formula = ops.where(isMet, share.reduction.formula, 0);
        return { ...share, reduction: describe('Sum', formula, { axis }) };
      }),
    ),
  };
}

/**
 * The spans of each kept row, their starts and then their ends. All rows have as many, a power of two so that kernels are few: where a row has
 * fewer, the others are empty.
 */
function spansOfRows(
  what: string,
  { rangesI, slicesI, redrangesJ }: KeptRanges,
  { keptRows }: ReturnType<typeof sidesOf>,
): { readonly data: Int32Array; readonly shape: readonly number[] } {
  const spans = Array.from(slicesI, (end, place) =>
    joined(redrangesJ.slice(slicesI[place - 1] ?? 0, end)),
  );
  const most = spans.reduce((count, { length }) => Math.max(count, length), 1);
  const width = 2 ** Math.ceil(Math.log2(most));
  if (keptRows * 2 * width > MOST_BOUNDS) {
    throw new LazyError(
      'UNSUPPORTED',
      `${what}: a gradient with a value for every pair has as many spans for each of ${keptRows} rows as the row with the most, ${most}, which are more than ${MOST_BOUNDS} bounds. Pass ranges with fewer spans.`,
    );
  }
  const data = new Int32Array(keptRows * 2 * width);
  for (const [place, [first, end]] of rangesI.entries()) {
    for (let row = first; row < end; row++) {
      for (const [at, [from, until]] of (spans[place] ?? []).entries()) {
        data[row * 2 * width + at] = from;
        data[row * 2 * width + width + at] = until;
      }
    }
  }
  return { data, shape: [keptRows, 2 * width] };
}

/** Spans in order, neighbours as one. */
function joined(spans: readonly RowRange[]): readonly RowRange[] {
  const result: RowRange[] = [];
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    const before = result.at(-1);
    if (start === end) continue;
    if (before?.[1] === start) result[result.length - 1] = [before[0], end];
    else result.push([start, end]);
  }
  return result;
}
