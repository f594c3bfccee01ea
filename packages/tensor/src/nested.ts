import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { formatShape, MAX_RANK, sizeOfShape } from './checked-size.js';
import { storageElement } from './host-convert.js';
import { MercerError } from './mercer-error.js';
import { newStorageArray, type StorageArray } from './typed-arrays.js';

/** A number, bigint or boolean, or arrays of these nested to any depth; rows may be typed arrays. */
export type Nested =
  number | bigint | boolean | readonly Nested[] | readonly Float64Array[] | readonly Float32Array[];

type Row = ArrayLike<unknown>;

function asRow(value: unknown): Row | undefined {
  if (Array.isArray(value)) return value as readonly unknown[];
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? (value as unknown as Row)
    : undefined;
}

/** Whether nested arrays hold an element of a type of JavaScript's. */
function holds(type: 'number' | 'bigint', node: unknown, depth: number): boolean {
  const row = depth > 0 ? asRow(node) : undefined;
  if (row === undefined) return typeof node === type;
  return Array.from(row).some((one) => holds(type, one, depth - 1));
}

/** The dtype of nested data when none is asked for: float32 where it holds a number, else int64 where it holds a bigint, else bool. */
function nestedDType(value: unknown, depth: number, first: unknown): DType {
  if (typeof first !== 'boolean' && typeof first !== 'bigint') return 'float32';
  if (holds('number', value, depth)) return 'float32';
  return holds('bigint', value, depth) ? 'int64' : 'bool';
}

/**
 * Reads nested arrays in row-major order.
 *
 * @throws MercerError SHAPE_MISMATCH for rows of different lengths, INVALID_ARGUMENT for other values
 */
export function nestedArray(
  value: unknown,
  dtype: DType | undefined,
  what: string,
): { data: StorageArray; dtype: DType; shape: number[] } {
  const { shape, first } = shapeOf(value, what);
  const to = dtype ?? nestedDType(value, shape.length, first);
  const data = newStorageArray(to, sizeOfShape(shape));
  const target = data as { [i: number]: number | bigint };
  let at = 0;
  const visit = (node: unknown, depth: number): void => {
    const row = asRow(node);
    if (depth === shape.length) {
      if (row !== undefined) throw ragged(shape, depth, describeValue(node), what);
      target[at++] = storageElement(node, to, what);
      return;
    }
    if (row === undefined) throw ragged(shape, depth, describeValue(node), what);
    if (row.length !== shape[depth]) {
      throw ragged(shape, depth, `a row of length ${row.length}`, what);
    }
    for (let i = 0; i < row.length; i++) visit(row[i], depth + 1);
  };
  visit(value, 0);
  return { data, dtype: to, shape };
}

function shapeOf(value: unknown, what: string): { shape: number[]; first: unknown } {
  const shape: number[] = [];
  let node = value;
  for (let row = asRow(node); row !== undefined; row = asRow(node)) {
    shape.push(row.length);
    if (shape.length > MAX_RANK) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: arrays are nested deeper than ${MAX_RANK}. Check the data for a cycle.`,
      );
    }
    if (row.length === 0) return { shape, first: undefined };
    node = row[0];
  }
  return { shape, first: node };
}

function ragged(shape: readonly number[], depth: number, found: string, what: string): MercerError {
  return new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the first elements say shape ${formatShape(shape)}, but at depth ${depth} there is ${found}. Make all rows of one length.`,
  );
}
