import { dtypeBytes, type DType } from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import type { StreamOption } from './device.js';
import type { ElementView } from './elementwise.js';
import { readbackOf } from './host-convert.js';
import { elementRange, isRowMajor, rowMajorStrides } from './layout.js';
import { castView, coreOf, type Operand } from './operations.js';
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

/** Views whose range is no larger than this are read whole and packed here: no kernel to compile. */
const HOST_PACK_BYTES = 2 ** 16;

/** The storage elements in row-major order, once the device has them. */
export async function readRaw<D extends DType>(
  source: Operand<D>,
  options: StreamOption,
): Promise<RawArrayOf<D>> {
  const { dtype, shape, strides } = source;
  const range = elementRange(source);
  const size = sizeOfShape(shape);
  if (range === undefined || isRowMajor(shape, strides)) {
    return (await download(source, source.offset, size, options)) as RawArrayOf<D>;
  }
  const span = range.last - range.first + 1;
  if (span * dtypeBytes(dtype) <= HOST_PACK_BYTES) {
    const data = await download(source, range.first, span, options);
    const layout = { shape, strides, offset: source.offset - range.first };
    return gather(data, layout, newStorageArray(dtype, size)) as RawArrayOf<D>;
  }
  const packed = await castView(source, dtype, options, 'toTypedArray');
  try {
    return (await download(packed, 0, size, options)) as RawArrayOf<D>;
  } finally {
    packed.storage.dispose();
  }
}

async function download(
  { storage, dtype }: ElementView,
  first: number,
  count: number,
  options: StreamOption,
): Promise<StorageArray> {
  const device = coreOf(storage.device);
  const stream = streamFor(device, options.stream, 'toTypedArray');
  const target = newStorageArray(dtype, count);
  storage.beforeRead(stream);
  const arrived = device.download(storage, first * dtypeBytes(dtype), target, stream);
  storage.noteRead(stream);
  await arrived;
  return target;
}

/** See Tensor.toTypedArray. */
export async function readTyped<D extends DType>(
  source: Operand<D>,
  options: StreamOption,
): Promise<TypedArrayOf<D>> {
  const { dtype } = source;
  return readbackOf((await readRaw(source, options)) as StorageArray, dtype);
}

/** See Tensor.toNested. */
export async function readNested<D extends DType>(
  source: Operand<D>,
  options: StreamOption,
): Promise<NestedOf<D>> {
  const { dtype, shape } = source;
  return nestElements(await readTyped(source, options), dtype, shape);
}

/** The same at once where the elements lie in host memory and nothing that writes them is pending; undefined elsewhere. */
export function nestedAtHand<D extends DType>(source: Operand<D>): NestedOf<D> | undefined {
  const { storage, dtype, shape, strides } = source;
  if (storage.disposed || storage.lastWrite.stream.inFlight > 0) return undefined;
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
  return nestElements(readbackOf(elements, dtype), dtype, shape);
}

function nestElements<D extends DType>(
  data: TypedArrayOf<D>,
  dtype: D,
  shape: readonly number[],
): NestedOf<D> {
  const elements = data as { readonly [i: number]: number | bigint };
  const element = (at: number): ElementOf<D> =>
    (dtype === 'bool' ? elements[at] !== 0 : elements[at]) as ElementOf<D>;
  const strides = rowMajorStrides(shape);
  const nest = (axis: number, at: number): NestedOf<D> => {
    if (axis === shape.length) return element(at);
    const step = strides[axis] ?? 1;
    return Array.from({ length: shape[axis] ?? 0 }, (_, i) => nest(axis + 1, at + i * step));
  };
  return nest(0, 0);
}
