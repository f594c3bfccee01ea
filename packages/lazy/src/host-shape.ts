import { describeValue, ofThisRealm } from '@mercer/options';
import {
  columnMajorStrides,
  MercerError,
  rowMajorStrides,
  type RowReader,
  type StridedSource,
  type TensorSource,
} from '@mercer/tensor';
import { isRowReader } from '@mercer/tensor/operation';
import { computedIn, storedDTypeNames, type LazyDType } from './lazy-dtype.js';

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
export function hostShape(data: TensorSource | RowReader, what: string): HostShape {
  if (isRowReader(data)) return readerShape(data, what);
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

function readerShape({ shape, dtype }: RowReader, what: string): HostShape {
  if (shape.length > 2) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the rows have shape [${shape.join(', ')}]. Rows that are read as they are needed are (rows, components), without a batch. Read the file with readNpy.`,
    );
  }
  const known = computedIn(dtype);
  if (known !== undefined) return { shape, dtype: known };
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: the rows are ${dtype}, and the dtypes of variables are ${storedDTypeNames()}. Read them with readNpy, make a tensor and cast it.`,
  );
}

/** Where the elements of a typed array, or of `{ data, shape }`, lie. */
export function hostLayout(data: unknown): HostLayout {
  if (isTyped(data)) {
    const typed = ofThisRealm(data) as unknown as HostLayout['data'];
    return { data: typed, shape: [data.length], strides: [1], offset: 0 };
  }
  const { shape, strides, stride, fortranOrder, offset = 0, ...given } = data as StridedSource;
  const rest = { ...given, data: ofThisRealm(given.data) };
  const natural = fortranOrder === true ? columnMajorStrides(shape) : rowMajorStrides(shape);
  return { ...rest, shape, strides: strides ?? stride ?? natural, offset };
}

/** Whether {@link hostLayout} can tell where elements lie: not of nested arrays. */
export const hasLayout = (data: unknown): boolean =>
  isTyped(data) || (typeof data === 'object' && data !== null && 'data' in data);

/** Elements in host memory with all that tells where. */
export type HostLayout = StridedSource & Required<Pick<StridedSource, 'strides' | 'offset'>>;

type Typed = ArrayBufferView & ArrayLike<unknown>;

const isTyped = (value: unknown): value is Typed =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

function typedDType(data: Typed): LazyDType | undefined {
  const view = ofThisRealm(data);
  if (view instanceof Float32Array) return 'float32';
  return view instanceof Float64Array ? 'float64' : undefined;
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
