import type { DType } from '@mercer/kernels';
import { describeValue, ofThisRealm } from '@mercer/options';
import { columnMajorStrides, rowMajorStrides } from './layout.js';
import { MercerError } from './mercer-error.js';
import { newStorageArray, type StorageArray } from './typed-arrays.js';

/** Ids of Arrow's types that can be read. */
const INT = 2;
const FLOAT = 3;
const BOOL = 6;
const FIXED_SIZE_LIST = 16;

interface ArrowType {
  readonly typeId: number;
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly listSize?: number;
}

/** What is used of an Arrow vector; any object of this form will do. */
export interface ArrowVectorLike {
  readonly type: ArrowType;
  readonly length: number;
  readonly nullCount: number;
  get(index: number): unknown;
  toArray(): unknown;
  getChildAt?(index: number): ArrowVectorLike | null;
}

/** What is used of an Arrow table or record batch. */
export interface ArrowTableLike {
  readonly numRows: number;
  readonly numCols: number;
  readonly schema: { readonly fields: readonly { readonly name: string }[] };
  getChildAt(index: number): ArrowVectorLike | null;
}

export type ArrowLike = ArrowVectorLike | ArrowTableLike;

interface ArrowArray {
  readonly data: StorageArray;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function isTable(value: object): value is ArrowTableLike {
  return 'numRows' in value && 'numCols' in value && 'schema' in value && 'getChildAt' in value;
}

function isVector(value: object): value is ArrowVectorLike {
  return (
    'nullCount' in value &&
    'toArray' in value &&
    'type' in value &&
    isObject(value.type) &&
    'typeId' in value.type
  );
}

/** True for Arrow vectors, tables and record batches of any copy of the library. */
export function isArrow(value: unknown): value is ArrowLike {
  return isObject(value) && (isTable(value) || isVector(value));
}

/**
 * The numbers of an Arrow vector (rank 1), of a vector of fixed-size lists (rank 2), or of a table whose columns have
 * one type (rank 2, column-major).
 *
 * @throws MercerError INVALID_ARGUMENT for nulls and for types that are not numbers
 */
export function arrowArray(source: ArrowLike, what: string): ArrowArray {
  return isTable(source) ? tableArray(source, what) : vectorArray(source, what);
}

function tableArray(table: ArrowTableLike, what: string): ArrowArray {
  const columns = Array.from({ length: table.numCols }, (_, i) => {
    const name = `${what}, column ${JSON.stringify(table.schema.fields[i]?.name ?? String(i))}`;
    const child = table.getChildAt(i);
    if (child === null) throw refuse(name, 'is missing', 'Select another column');
    const column = vectorArray(child, name);
    if (column.shape.length !== 1) throw refuse(name, 'is a list', 'Pass that column alone');
    return column;
  });
  const dtype = columns[0]?.dtype ?? 'float32';
  const shape = [table.numRows, columns.length];
  const data = newStorageArray(dtype, table.numRows * columns.length);
  columns.forEach((column, i) => {
    if (column.dtype !== dtype) {
      throw refuse(
        what,
        `mixes ${dtype} and ${column.dtype} columns`,
        'Select columns of one type',
      );
    }
    (data as Float64Array).set(column.data as Float64Array, i * table.numRows);
  });
  return { data, dtype, shape, strides: columnMajorStrides(shape) };
}

function vectorArray(vector: ArrowVectorLike, what: string): ArrowArray {
  if (vector.nullCount > 0) {
    throw refuse(what, `holds ${vector.nullCount} nulls`, 'Fill or drop them first');
  }
  const { type } = vector;
  if (type.typeId === FIXED_SIZE_LIST) {
    const child = vector.getChildAt?.(0);
    if (child === null || child === undefined)
      throw refuse(what, 'has no values', 'Check the data');
    const values = vectorArray(child, what);
    const shape = [vector.length, type.listSize ?? 0];
    if (values.data.length !== vector.length * (type.listSize ?? 0)) {
      throw refuse(what, 'is a slice of a list vector', 'Copy it to a vector of its own first');
    }
    return { ...values, shape, strides: rowMajorStrides(shape) };
  }
  const { data, dtype } = primitive(vector, what);
  if (data.length !== vector.length) {
    throw refuse(what, `gave ${data.length} of ${vector.length} values`, 'Check the data');
  }
  return { data, dtype, shape: [vector.length], strides: [1] };
}

function primitive(vector: ArrowVectorLike, what: string): { data: StorageArray; dtype: DType } {
  const { type } = vector;
  if (type.typeId === BOOL) {
    // Bits in Arrow, bytes here.
    const data = Uint8Array.from({ length: vector.length }, (_, i) =>
      vector.get(i) === true ? 1 : 0,
    );
    return { data, dtype: 'bool' };
  }
  const isNumber = type.typeId === FLOAT || type.typeId === INT;
  const values = isNumber ? ofThisRealm(vector.toArray()) : undefined;
  if (values instanceof Float64Array) return { data: values, dtype: 'float64' };
  if (values instanceof Float32Array) return { data: values, dtype: 'float32' };
  if (values instanceof BigInt64Array) return { data: values, dtype: 'int64' };
  if (values instanceof Int32Array) return { data: values, dtype: 'int32' };
  if (values instanceof Uint8Array) return { data: values, dtype: 'uint8' };
  if (values instanceof Int8Array || values instanceof Int16Array) {
    return { data: Int32Array.from(values), dtype: 'int32' };
  }
  if (values instanceof Uint16Array) {
    if (type.typeId === FLOAT) return { data: values, dtype: 'float16' };
    return { data: Int32Array.from(values), dtype: 'int32' };
  }
  if (values instanceof Uint32Array) {
    return { data: BigInt64Array.from(values, BigInt), dtype: 'int64' };
  }
  throw refuse(
    what,
    `has Arrow type ${type.typeId}, read as ${describeValue(values)}, which is no kind of number`,
    'Cast the column to floating point or integer',
  );
}

function refuse(what: string, why: string, remedy: string): MercerError {
  return new MercerError('INVALID_ARGUMENT', `${what}: the Arrow data ${why}. ${remedy}.`);
}
