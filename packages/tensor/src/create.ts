import { pendingInPlace, type Pending } from './pending.js';
import type { DType } from '@mercer/kernels';
import { own, refusePromise, type OptionNames } from '@mercer/options';
import { checkShape } from './checked-size.js';
import {
  PROGRESS_OPTION,
  SIGNAL_OPTION,
  STREAM_OPTION,
  type DeviceLike,
  type SignalOption,
  type StreamOption,
  type WatchOptions,
} from './device.js';
import { deviceCore } from './devices.js';
import { hostArray, type TensorSource } from './host-array.js';
import { MercerError } from './mercer-error.js';
import { allocateLayout, allocateView, filled, fillView } from './operations.js';
import { readOptions } from './read-options.js';
import { streamFor } from './stream-core.js';
import { uploadArray } from './upload-array.js';
import { checkDType, refuseDataless } from './check-argument.js';
import { isTensor, wrap, type Tensor } from './tensor.js';
import { TracedValue } from './trace/traced-value.js';

/** Where a new tensor goes. */
export interface PlacementOptions extends StreamOption {
  /** Default: the device of `stream`, else defaultDevice(). */
  readonly device?: DeviceLike | undefined;
}

const PLACEMENT_OPTIONS: OptionNames<PlacementOptions> = { ...STREAM_OPTION, device: true };

/** Options of empty. */
export interface NewOptions<D extends DType> extends PlacementOptions {
  /** Default 'float32'. */
  readonly dtype?: D | undefined;
}

const NEW_OPTIONS: OptionNames<NewOptions<DType>> = { ...PLACEMENT_OPTIONS, dtype: true };

/** Options of zeros, full and other tensors that are made by shape. */
export interface FullOptions<D extends DType> extends NewOptions<D>, SignalOption {}

/** Names of {@link FullOptions}. */
export const FULL_OPTIONS: OptionNames<FullOptions<DType>> = { ...NEW_OPTIONS, ...SIGNAL_OPTION };

/** Options of tensor; progress counts bytes that were read. */
export interface TensorOptions<D extends DType> extends PlacementOptions, WatchOptions {
  /** Default: the type of the data; nested arrays are float32 where they hold a number, else int64 where they hold a bigint, else bool. */
  readonly dtype?: D | undefined;
  /** Default: the shape of the data; a typed array has rank 1. */
  readonly shape?: readonly number[] | undefined;
}

const TENSOR_OPTIONS: OptionNames<TensorOptions<DType>> = {
  ...NEW_OPTIONS,
  ...SIGNAL_OPTION,
  ...PROGRESS_OPTION,
  shape: true,
};

/** What arrays nested up to eight deep hold; rows that are typed arrays hold numbers. */
type LeafOf<S, Depth extends readonly 0[] = []> = Depth['length'] extends 8
  ? unknown
  : S extends ArrayBufferView
    ? Depth extends []
      ? S
      : number
    : S extends readonly (infer E)[]
      ? LeafOf<E, [...Depth, 0]>
      : S;

type DTypeOfLeaf<L> = L extends Float64Array
  ? 'float64'
  : L extends Float32Array | number
    ? 'float32'
    : L extends BigInt64Array | BigUint64Array | Uint32Array | bigint
      ? 'int64'
      : L extends Int32Array | Int16Array | Int8Array
        ? 'int32'
        : L extends Uint8Array | Uint8ClampedArray
          ? 'uint8'
          : L extends boolean
            ? 'bool'
            : DType;

/** The dtype of a tensor made from data of type S without the option `dtype`. */
export type DTypeOf<S> = DTypeOfLeaf<LeafOf<S>>;

function place({ device, stream }: PlacementOptions): ReturnType<typeof deviceCore> {
  return deviceCore(device ?? stream?.device);
}

/**
 * A tensor from data: a typed array, nested arrays, `{ data, shape, stride, offset }` as ndarray packages and the .npy
 * reader give it, Arrow data without nulls (a vector, or a table whose columns have one type), or a data frame of numbers. Resolves when the data has been read, so it may be changed afterwards. Data that is
 * dense in another order (Fortran order, a transposed ndarray) keeps its strides; data with gaps is packed.
 *
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY, NO_BACKEND; the signal's reason, between pieces of the data
 *
 * @example
 * ```ts
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor(new Float32Array([1, 2, 3, 4]), { shape: [2, 2], device: 'cpu' });
 * const b = await tensor([[true], [false]], { device: 'cpu' });
 * console.log(a.dtype, a.shape, b.dtype, b.shape); // float32 [ 2, 2 ] bool [ 2, 1 ]
 * ```
 */
export function tensor<const S extends TensorSource, D extends DType = DTypeOf<S>>(
  data: S,
  options?: TensorOptions<D>,
): Pending<Tensor<D>> {
  return pendingInPlace(made(data, options));
}

async function made<S extends TensorSource, D extends DType = DTypeOf<S>>(
  data: S,
  options?: TensorOptions<D>,
): Promise<Tensor<D>> {
  const given = readOptions('tensor', options, TENSOR_OPTIONS);
  if (isTensor(data) || TracedValue.is(data)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `tensor: the data is ${(data as Tensor).label} already. Use clone(), cast() or to(device).`,
    );
  }
  refusePromise(data, 'tensor: the data');
  refuseDataless(data, 'tensor');
  const dtype = given.dtype === undefined ? undefined : checkDType(given.dtype, 'tensor');
  const host = hostArray(data, { shape: given.shape, dtype }, 'tensor');
  const device = place(given);
  const stream = streamFor(device, given.stream, 'tensor');
  const { signal, onProgress } = given;
  signal?.throwIfAborted();
  const view = await filled(allocateLayout(device, host, host.dtype, { stream }), (to) =>
    uploadArray(device, to.storage, host.data, stream, { what: 'tensor', signal, onProgress }),
  );
  return wrap(view, host.dtype as D);
}

/**
 * A row-major tensor whose elements are undefined until they are written. Synchronous: it only takes memory.
 *
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND
 */
export function empty<D extends DType = 'float32'>(
  shape: readonly number[],
  options?: NewOptions<D>,
): Tensor<D> {
  return emptyOf(shape, readOptions('empty', options, NEW_OPTIONS), 'empty');
}

function emptyOf<D extends DType>(
  shape: readonly number[],
  options: NewOptions<D> & { readonly zeroed?: boolean },
  what: string,
): Tensor<D> {
  const { stream, zeroed = false } = own(options, 'stream', 'zeroed');
  const dtype = checkDType(options.dtype ?? ('float32' as D), what);
  const device = place(options);
  return wrap(allocateView(device, checkShape(shape, what), dtype, { stream, zeroed }), dtype);
}

/** A row-major tensor of zeros. Resolves when the work is enqueued. */
export function zeros<D extends DType = 'float32'>(
  shape: readonly number[],
  options?: FullOptions<D>,
): Pending<Tensor<D>> {
  return pendingInPlace(zeroed(shape, options));
}

async function zeroed<D extends DType = 'float32'>(
  shape: readonly number[],
  options?: FullOptions<D>,
): Promise<Tensor<D>> {
  const given = readOptions('zeros', options, FULL_OPTIONS);
  given.signal?.throwIfAborted();
  if (place(given).kind === 'cuda') return fullOf(shape, 0, given, 'zeros');
  return emptyOf(shape, { ...given, zeroed: true }, 'zeros');
}

/** A row-major tensor with one value everywhere. Resolves when the work is enqueued. */
export function full<D extends DType = 'float32'>(
  shape: readonly number[],
  value: number | bigint | boolean,
  options?: FullOptions<D>,
): Pending<Tensor<D>> {
  return pendingInPlace(filledWith(shape, value, options));
}

async function filledWith<D extends DType = 'float32'>(
  shape: readonly number[],
  value: number | bigint | boolean,
  options?: FullOptions<D>,
): Promise<Tensor<D>> {
  return fullOf(shape, value, readOptions('full', options, FULL_OPTIONS), 'full');
}

async function fullOf<D extends DType>(
  shape: readonly number[],
  value: number | bigint | boolean,
  options: FullOptions<D>,
  what: string,
): Promise<Tensor<D>> {
  options.signal?.throwIfAborted();
  const result = emptyOf(shape, options, what);
  try {
    await fillView(result, value, options);
  } catch (error) {
    result.dispose();
    throw error;
  }
  return result;
}
