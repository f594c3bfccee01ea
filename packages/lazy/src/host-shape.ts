import { describeValue } from '@mercer/options';
import { MercerError, type TensorSource } from '@mercer/tensor';
import type { LazyDType } from './lazy-dtype.js';

/** What can be told of host data without reading it. */
export interface HostShape {
  readonly shape: readonly number[];
  /** Undefined where the numbers have no dtype of their own and take that of the others. */
  readonly dtype: LazyDType | undefined;
}

/**
 * Shape and dtype of a number, of nested arrays, of a typed array and of `{ data, shape }`.
 *
 * @throws MercerError INVALID_ARGUMENT for anything else
 */
export function hostShape(data: TensorSource, what: string): HostShape {
  if (typeof data === 'number') return { shape: [], dtype: undefined };
  if (isTyped(data)) return { shape: [data.length], dtype: typedDType(data) };
  if (Array.isArray(data)) return { shape: nestedShape(data), dtype: undefined };
  if (typeof data === 'object' && 'data' in data && 'shape' in data && isTyped(data.data)) {
    return { shape: data.shape, dtype: typedDType(data.data) };
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the data is ${describeValue(data)}, without numbers and a shape. Pass a tensor, nested arrays of numbers, or { data, shape } with a typed array.`,
  );
}

type Typed = ArrayBufferView & ArrayLike<unknown>;

const isTyped = (value: unknown): value is Typed =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

function typedDType(data: Typed): LazyDType | undefined {
  if (data instanceof Float32Array) return 'float32';
  return data instanceof Float64Array ? 'float64' : undefined;
}

function nestedShape(data: readonly unknown[]): number[] {
  const shape: number[] = [];
  let node: unknown = data;
  while (Array.isArray(node) || isTyped(node)) {
    shape.push(node.length);
    if (shape.length > 32) break;
    node = (node as ArrayLike<unknown>)[0];
  }
  return shape;
}
