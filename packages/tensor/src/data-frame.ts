import { describeValue } from '@mercer/options';
import { MercerError } from './mercer-error.js';
import type { Nested } from './nested.js';
import type { InputTypedArray } from './typed-arrays.js';

/** A data frame as danfojs gives it: any object with columns, whose `values` are its rows, or the elements of one column. */
export interface FrameLike {
  readonly columns: readonly unknown[];
  readonly values: readonly Nested[] | InputTypedArray;
}

/** True for data frames of any library. */
export function isFrame(source: unknown): source is FrameLike {
  return (
    typeof source === 'object' &&
    source !== null &&
    'columns' in source &&
    Array.isArray(source.columns) &&
    'values' in source &&
    (Array.isArray(source.values) || ArrayBuffer.isView(source.values))
  );
}

/**
 * The rows of a frame.
 *
 * @throws MercerError INVALID_ARGUMENT for cells that are no numbers, by row and column: missing values, text
 */
export function frameValues({ values, columns }: FrameLike, what: string): FrameLike['values'] {
  if (ArrayBuffer.isView(values)) return values;
  for (const [row, cells] of values.entries()) {
    const list: readonly unknown[] = Array.isArray(cells) ? cells : [cells];
    const at = list.findIndex((cell) => !['number', 'boolean', 'bigint'].includes(typeof cell));
    if (at < 0) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: row ${row} of column ${describeValue(columns[at])} of the data frame is ${describeValue(list[at])}, which is no number. Select columns of numbers, and fill or drop what is missing.`,
    );
  }
  return values;
}
