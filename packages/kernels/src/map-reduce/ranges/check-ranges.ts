import { PlanError } from '../../plan-error.js';
import type { KeptRanges, RowRange } from './ranges.js';

/** Throws a `PlanError` that names the first entry which is no range of rows, overlaps, or does not fit the others. */
export function checkRanges(ranges: KeptRanges, rowsKept: number, rowsReduced: number): void {
  const { slicesI, redrangesJ } = ranges;
  checkRows('redrangesJ', redrangesJ, rowsReduced);
  checkKept(ranges, rowsKept, redrangesJ.length);
  slicesI.forEach((end, k) => {
    const slice = redrangesJ.slice(slicesI[k - 1] ?? 0, end);
    checkApart('redrangesJ', slice, 'Merge them: a row counts once.');
  });
}

/** The same of the kept side: its ranges, and slices of so many ranges of the other. */
export function checkKept(
  { rangesI, slicesI }: Pick<KeptRanges, 'rangesI' | 'slicesI'>,
  rowsKept: number,
  spanCount: number,
): void {
  checkRows('rangesI', rangesI, rowsKept);
  checkApart('rangesI', rangesI, 'Give every row to one range.');
  if (slicesI.length !== rangesI.length) {
    fail(
      `${rangesI.length} ranges in 'rangesI' and ${slicesI.length} entries in 'slicesI'`,
      'Pass the end of the slice of each range.',
    );
  }
  slicesI.forEach((end, k) => {
    const start = slicesI[k - 1] ?? 0;
    if (Number.isInteger(end) && end >= start && end <= spanCount) return;
    fail(
      `slicesI[${k}] is ${end}, the entry before it ${start}, and 'redrangesJ' has ${spanCount} entries`,
      'Slices never decrease and end within redrangesJ.',
    );
  });
}

function checkRows(name: string, ranges: readonly RowRange[], rows: number): void {
  ranges.forEach(([start, end], k) => {
    const whole = Number.isInteger(start) && Number.isInteger(end);
    if (whole && start >= 0 && start <= end && end <= rows) return;
    fail(
      `${name}[${k}] is [${start}, ${end}], and there are ${rows} rows`,
      'A range is two whole numbers, 0 <= start <= end <= rows.',
    );
  });
}

function checkApart(name: string, ranges: readonly RowRange[], remedy: string): void {
  let before: RowRange = [0, 0];
  for (const range of sortedRanges(ranges)) {
    if (range[0] < before[1]) {
      fail(`[${before.join(', ')}] and [${range.join(', ')}] in '${name}' overlap`, remedy);
    }
    before = range;
  }
}

/** The ranges that have rows, by their first row. */
export const sortedRanges = (ranges: readonly RowRange[]): RowRange[] =>
  ranges.filter(([start, end]) => end > start).sort(([a], [b]) => a - b);

function fail(problem: string, remedy: string): never {
  throw new PlanError('INVALID_ARGUMENT', `cannot plan ranges: ${problem}. ${remedy}`);
}
