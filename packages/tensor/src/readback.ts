import { dtypeBytes, type DType } from '@mercer/kernels';
import { readbackOf } from './host-convert.js';
import { elementRange, isRowMajor, rowMajorStrides } from './layout.js';
import { contiguousTensor, coreOf } from './operations.js';
import { gather } from './strided-host.js';
import { assertTensor, type StreamOption, type Tensor } from './tensor.js';
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

/** The storage elements in row-major order. */
export async function readRaw<D extends DType>(
  tensor: Tensor<D>,
  options: StreamOption,
): Promise<RawArrayOf<D>> {
  assertTensor(tensor, 'toTypedArray');
  const range = elementRange(tensor);
  const bytes = range === undefined ? 0 : (range.last - range.first + 1) * dtypeBytes(tensor.dtype);
  if (range === undefined || isRowMajor(tensor.shape, tensor.strides)) {
    return (await download(tensor, tensor.offset, tensor.size, options)) as RawArrayOf<D>;
  }
  if (bytes <= HOST_PACK_BYTES) {
    const span = await download(tensor, range.first, range.last - range.first + 1, options);
    const layout = { ...layoutOf(tensor), offset: tensor.offset - range.first };
    return gather(span, layout, newStorageArray(tensor.dtype, tensor.size)) as RawArrayOf<D>;
  }
  const packed = await contiguousTensor(tensor, options);
  try {
    return (await download(packed, packed.offset, packed.size, options)) as RawArrayOf<D>;
  } finally {
    packed.dispose();
  }
}

function layoutOf(tensor: Tensor): { shape: readonly number[]; strides: readonly number[] } {
  return { shape: tensor.shape, strides: tensor.strides };
}

async function download(
  tensor: Tensor,
  first: number,
  count: number,
  options: StreamOption,
): Promise<StorageArray> {
  const device = coreOf(tensor);
  const stream = device.streamFor(options.stream, 'toTypedArray');
  const target = newStorageArray(tensor.dtype, count);
  const { storage } = tensor;
  storage.beforeRead(stream);
  const arrived = device.download(storage, first * dtypeBytes(tensor.dtype), target, stream);
  storage.noteRead(stream);
  await arrived;
  return target;
}

/** See Tensor.toTypedArray. */
export async function readTyped<D extends DType>(
  tensor: Tensor<D>,
  options: StreamOption,
): Promise<TypedArrayOf<D>> {
  const { dtype } = tensor;
  return readbackOf((await readRaw(tensor, options)) as StorageArray, dtype);
}

/** See Tensor.toNested. */
export async function readNested<D extends DType>(
  tensor: Tensor<D>,
  options: StreamOption,
): Promise<NestedOf<D>> {
  const { dtype, shape } = tensor;
  const flat = await readTyped(tensor, options);
  const elements = flat as { readonly [i: number]: number | bigint };
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
