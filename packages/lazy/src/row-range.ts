import { describeList } from '@mercer/options';
import { LazyError } from './lazy-error.js';
import type { RowRange } from './view-step.js';

/** One row, or rows `start` (default 0) up to but not including `stop` (default all), every `step`-th (default 1). */
export type RowSelection =
  number | readonly [start: number, stop?: number | undefined, step?: number | undefined];

/** The rows that a selection takes of so many; negative numbers count from the end. @throws LazyError INVALID_ARGUMENT */
export function rowRange(what: string, selection: RowSelection, rows: number): RowRange {
  const fromEnd = (row: number): number => (row < 0 ? row + rows : row);
  const [from, to, step = 1] =
    typeof selection === 'number'
      ? [selection, selection === -1 ? rows : selection + 1]
      : [selection[0], selection[1] ?? rows, selection[2]];
  const [start, stop] = [fromEnd(from), fromEnd(to)];
  const isInside = start >= 0 && (typeof selection === 'number' ? start < rows : start <= rows);
  if ([from, to, step].every(Number.isSafeInteger) && isInside && stop <= rows && step >= 1) {
    return { start, step, count: Math.max(0, Math.ceil((stop - start) / step)) };
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: rows ${describeList(selection)} of ${rows}. ` +
      `Pass a row from 0 to ${rows - 1}, or [start, stop, step] inside them with a step of 1 or more.`,
  );
}
