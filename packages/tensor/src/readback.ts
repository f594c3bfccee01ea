import { finish, type Steps } from '@mercer/formula/plan';
import { dtypeBytes, type DType } from '@mercer/kernels';
import { assertNotPreparing } from './capture/refusals.js';
import { inTurn } from './call-order.js';
import { sizeOfShape } from './checked-size.js';
import type { OptionNames } from '@mercer/options';
import { WORK_OPTIONS, type WorkOptions } from './device.js';
import type { ElementView } from './elementwise.js';
import { readbackOf } from './host-convert.js';
import { inSlices } from './in-slices.js';
import { elementRange, isRowMajor, rowMajorStrides } from './layout.js';
import { castView, coreOf, type LabelledView } from './operations.js';
import { streamFor } from './stream-core.js';
import { gather } from './strided-host.js';
import {
  newStorageArray,
  type ElementOf,
  type NestedOf,
  type RawArrayOf,
  type StorageArray,
  type TypedArrayOf,
} from './typed-arrays.js';
import { unlessAborted } from './unless-aborted.js';

/** Options of {@link Tensor.toTypedArray}. */
export interface ReadbackOptions<R extends boolean = boolean> extends WorkOptions {
  /** The bits of float16 and bfloat16 instead of numbers. Default false. */
  readonly raw?: R | undefined;
}

/** Names of {@link ReadbackOptions}. */
export const READBACK_OPTIONS: OptionNames<ReadbackOptions> = { ...WORK_OPTIONS, raw: true };

/** Views whose range is no larger than this are read whole and packed here: no kernel to compile. */
const HOST_PACK_BYTES = 2 ** 16;

/** The storage elements in row-major order, once the device has them; `what` is the method that asks for them. */
export async function readRaw<D extends DType>(
  source: LabelledView<D>,
  options: WorkOptions,
  what = 'toTypedArray',
): Promise<RawArrayOf<D>> {
  const { dtype, shape, strides } = source;
  const range = elementRange(source);
  const size = sizeOfShape(shape);
  if (range === undefined || isRowMajor(shape, strides)) {
    return (await download(source, source.offset, size, options, what)) as RawArrayOf<D>;
  }
  const span = range.last - range.first + 1;
  if (span * dtypeBytes(dtype) <= HOST_PACK_BYTES) {
    const data = await download(source, range.first, span, options, what);
    const layout = { shape, strides, offset: source.offset - range.first };
    return gather(data, layout, newStorageArray(dtype, size)) as RawArrayOf<D>;
  }
  const packed = await castView(source, dtype, options, what);
  try {
    return (await download(packed, 0, size, options, what)) as RawArrayOf<D>;
  } finally {
    packed.storage.dispose();
  }
}

async function download(
  { storage, dtype }: ElementView,
  first: number,
  count: number,
  options: WorkOptions,
  what: string,
): Promise<StorageArray> {
  const { signal } = options;
  signal?.throwIfAborted();
  const device = coreOf(storage.device);
  assertNotPreparing(what);
  const stream = streamFor(device, options.stream, what);
  const target = newStorageArray(dtype, count);
  // in an object, so that its turn ends when it is enqueued
  const { arrived } = await inTurn([storage], [], signal, () => {
    storage.beforeRead(stream);
    const arrived = device.download(storage, first * dtypeBytes(dtype), target, stream);
    storage.noteRead(stream);
    return Promise.resolve({ arrived });
  });
  // The target is held until the bytes have arrived, also where nobody waits for them any more.
  return unlessAborted(
    arrived.then(() => target),
    signal,
  );
}

/** See Tensor.toTypedArray. */
export async function readTyped<D extends DType>(
  source: LabelledView<D>,
  options: WorkOptions,
  what = 'toTypedArray',
): Promise<TypedArrayOf<D>> {
  const { dtype } = source;
  return readbackOf((await readRaw(source, options, what)) as StorageArray, dtype);
}

/** See Tensor.toNested. */
export async function readNested<D extends DType>(
  source: LabelledView<D>,
  options: WorkOptions,
  what = 'toNested',
): Promise<NestedOf<D>> {
  const { dtype, shape } = source;
  return inSlices(nestSteps(await readTyped(source, options, what), dtype, shape), options.signal);
}

/** The same at once where the elements lie in host memory and nothing that writes them is pending; undefined elsewhere. */
export function nestedAtHand<D extends DType>(source: LabelledView<D>): NestedOf<D> | undefined {
  const { storage, dtype, shape, strides } = source;
  if (storage.disposed || storage.calls?.hasWriters === true) return undefined;
  if (storage.isCaptured || storage.lastWrite.stream.inFlight > 0) return undefined;
  const { first, last } = elementRange(source) ?? { first: source.offset, last: source.offset - 1 };
  const bytes = dtypeBytes(dtype);
  const span = last - first + 1;
  const memory = coreOf(storage.device).hostView(storage, first * bytes, span * bytes);
  if (memory === undefined) return undefined;
  const elements = newStorageArray(dtype, sizeOfShape(shape));
  const Elements = elements.constructor as new (
    buffer: ArrayBufferLike,
    byteOffset: number,
    length: number,
  ) => typeof elements;
  const data = new Elements(memory.buffer, memory.byteOffset, span);
  gather(data, { shape, strides, offset: source.offset - first }, elements);
  return finish(nestSteps(readbackOf(elements, dtype), dtype, shape));
}

/** Elements that are nested in one step: some tens of microseconds. */
const NESTED_AT_ONCE = 2 ** 12;

/** Nested arrays of elements in row-major order, in steps. */
function* nestSteps<D extends DType>(
  data: TypedArrayOf<D>,
  dtype: D,
  shape: readonly number[],
): Steps<NestedOf<D>> {
  const elements = data as { readonly [i: number]: number | bigint };
  const element = (at: number): ElementOf<D> =>
    (dtype === 'bool' ? elements[at] !== 0 : elements[at]) as ElementOf<D>;
  const strides = rowMajorStrides(shape);
  const nest = (axis: number, at: number): NestedOf<D> => {
    if (axis === shape.length) return element(at);
    const step = strides[axis] ?? 1;
    return Array.from({ length: shape[axis] ?? 0 }, (_, i) => nest(axis + 1, at + i * step));
  };
  let atOnce = 0;
  function* rows(axis: number, at: number): Steps<NestedOf<D>> {
    const step = strides[axis] ?? 1;
    const nested: NestedOf<D>[] = [];
    for (let i = 0; i < (shape[axis] ?? 0); i++) {
      const from = at + i * step;
      nested.push(step > NESTED_AT_ONCE ? yield* rows(axis + 1, from) : nest(axis + 1, from));
      atOnce += step;
      if (atOnce < NESTED_AT_ONCE) continue;
      atOnce = 0;
      yield;
    }
    return nested;
  }
  return shape.length === 0 ? element(0) : yield* rows(0, 0);
}
