import { float16ToFloat32, npyStrides, type NpyDType } from '@mercer/core/npy';
import { CliError } from '../cli-error.js';
import { shownPath } from './file-name.js';
import type { NamedArray } from './named-array.js';

/** A matrix seen as rows and columns of a table. */
export interface Table {
  readonly rows: number;
  readonly columns: number;
  readonly dtype: NpyDType;
  /** Undefined where the columns have none. */
  readonly names: readonly string[] | undefined;
  readonly cell: (row: number, column: number) => number | bigint;
}

/** A vector is one column. @throws CliError SHAPE_MISMATCH for what has more axes than a table */
export function tableOf(path: string, array: NamedArray): Table {
  const { shape, dtype, names } = array;
  if (shape.length > 2) {
    throw new CliError(
      'SHAPE_MISMATCH',
      `Cannot write ${shownPath(path, 'output')}: the result has shape (${shape.join(', ')}), and a table has rows and columns alone. Write it as .npy, .npz or .safetensors.`,
    );
  }
  const data = dtype === 'float16' ? float16ToFloat32(array.data as Uint16Array) : array.data;
  const [rows = 1, columns = 1] = shape;
  const [down = 1, right = 1] = npyStrides(array);
  return {
    rows,
    columns,
    dtype,
    names,
    cell: (row, column) => data[row * down + column * right] ?? NaN,
  };
}

/** Names of columns for formats that need some: `c0`, `c1`, ... */
export const columnNames = ({ names, columns }: Table): readonly string[] =>
  names ?? Array.from({ length: columns }, (_, at) => `c${at}`);

/** Rows of one column as the typed array that its type has in columnar formats. */
export function columnOf(
  { rows, dtype, cell }: Table,
  column: number,
): Float32Array | Float64Array | Int32Array | BigInt64Array {
  if (dtype === 'int64') {
    return BigInt64Array.from({ length: rows }, (_, row) => BigInt(cell(row, column)));
  }
  const values = { length: rows };
  const at = (_: unknown, row: number): number => Number(cell(row, column));
  if (dtype === 'float64') return Float64Array.from(values, at);
  return dtype === 'float32' || dtype === 'float16'
    ? Float32Array.from(values, at)
    : Int32Array.from(values, at);
}
