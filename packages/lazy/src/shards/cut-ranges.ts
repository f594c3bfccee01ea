import { checkRanges, swapAxes, type KeptRanges, type RowRange } from '@mercer/kernels';
import { isTensor, type SignalOption } from '@mercer/tensor';
import { listOfSpans, type CallRanges, type Rows } from '@mercer/tensor/operation';
import { translated } from '../lazy-error.js';
import type { RangesOption } from '../ranges-option.js';

/** The ranges of a call as lists, checked against its rows. @throws LazyError INVALID_ARGUMENT */
export async function listedRanges(
  what: string,
  ranges: CallRanges,
  { keptRows, reducedRows }: { readonly keptRows: number; readonly reducedRows: number },
  options: SignalOption,
): Promise<KeptRanges> {
  const { redrangesJ: met } = ranges;
  const listed = { ...ranges, redrangesJ: isTensor(met) ? await listOfSpans(met, options) : met };
  translated(what, () => {
    checkRanges(listed, keptRows, reducedRows);
  });
  return listed;
}

/** What the rows of a range have in common with a block, counted from the block's first row; undefined where that is nothing. */
function within([start, end]: RowRange, [first, count]: Rows): RowRange | undefined {
  const from = Math.max(start, first);
  const until = Math.min(end, first + count);
  return from < until ? [from - first, until - first] : undefined;
}

/** The ranges of a cell, in its own row numbers, for a reduction along an axis. Kept rows that meet nothing in it are in none. */
export function cutRanges(
  ranges: KeptRanges,
  axis: 0 | 1,
  kept: Rows,
  reduced: Rows,
): RangesOption {
  const cut = cutKept(ranges, kept, reduced);
  const nothing = { rangesJ: [], slicesJ: [], redrangesI: [] };
  return axis === 1 ? cut : swapAxes({ ...cut, ...nothing });
}

function cutKept(
  { rangesI, slicesI, redrangesJ }: KeptRanges,
  kept: Rows,
  reduced: Rows,
): KeptRanges {
  const [rows, slices, spans]: [RowRange[], number[], RowRange[]] = [[], [], []];
  for (const [at, range] of rangesI.entries()) {
    const some = within(range, kept);
    if (some === undefined) continue;
    const before = spans.length;
    for (let place = slicesI[at - 1] ?? 0; place < (slicesI[at] ?? 0); place++) {
      const span = within(redrangesJ[place] ?? [0, 0], reduced);
      if (span !== undefined) spans.push(span);
    }
    if (spans.length === before) continue;
    rows.push(some);
    slices.push(spans.length);
  }
  return { rangesI: rows, slicesI: slices, redrangesJ: spans };
}
