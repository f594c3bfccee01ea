import type { DType } from '@mercer/kernels';
import { bytesOf, formatShape, sizeOfShape } from './checked-size.js';
import type { DeviceCore } from './device-core.js';
import type { DeviceLike } from './device.js';
import { deviceCore } from './devices.js';
import { enqueueCopy, enqueueFill } from './elementwise.js';
import { isDense, rowMajorStrides } from './layout.js';
import { MercerError } from './mercer-error.js';
import { assertNoOverlap, assertWritable } from './overlap.js';
import type { Stream, StreamCore } from './stream.js';
import { assertTensor, Tensor, type OutOption, type StreamOption } from './tensor.js';
import { broadcastLayout } from './views.js';

/** Every tensor's device is of this package's class. */
export function coreOf(tensor: Tensor): DeviceCore {
  return tensor.storage.device;
}

/** A row-major tensor with undefined elements, for operations; disposed by them when they fail. */
export function allocateTensor<D extends DType>(
  device: DeviceCore,
  shape: readonly number[],
  dtype: D,
  stream: Stream | undefined,
  zeroed = false,
): Tensor<D> {
  const bytes = bytesOf(sizeOfShape(shape), dtype);
  const purpose = `${dtype} ${formatShape(shape)}`;
  const storage = device.allocate(bytes, { stream, purpose, zeroed });
  return new Tensor(storage, dtype, { shape, strides: rowMajorStrides(shape), offset: 0 });
}

/**
 * Checks an output that the caller gave.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED
 */
export function checkOut(
  out: Tensor,
  expected: { readonly shape: readonly number[]; readonly dtype: DType; readonly device: unknown },
  inputs: readonly Tensor[],
  what: string,
): void {
  assertTensor(out, `${what}: out`);
  if (out.device !== expected.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: out is ${out.label}, the inputs are elsewhere. Allocate it on the inputs' device.`,
    );
  }
  if (out.dtype !== expected.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: out is ${out.label} and the result is ${expected.dtype}. Allocate it with dtype '${expected.dtype}'.`,
    );
  }
  const { shape } = expected;
  if (out.rank !== shape.length || !shape.every((extent, i) => extent === out.shape[i])) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: out is ${out.label} and the result has shape ${formatShape(shape)}. Allocate it with that shape.`,
    );
  }
  assertNoOverlap(out, inputs, what);
}

/** Runs `work` on a tensor that was just allocated, and gives its memory back if that fails. */
async function built<T extends Tensor>(result: T, work: (result: T) => Promise<void>): Promise<T> {
  try {
    await work(result);
    return result;
  } catch (error) {
    result.dispose();
    throw error;
  }
}

async function prepared(
  tensor: Tensor,
  options: StreamOption,
  what: string,
): Promise<{ device: DeviceCore; stream: StreamCore }> {
  assertTensor(tensor, what);
  const device = coreOf(tensor);
  const stream = device.streamFor(options.stream, what);
  if (!stream.hasRoom()) await stream.room();
  return { device, stream };
}

/** See Tensor.cast. */
export async function castTensor<E extends DType>(
  source: Tensor,
  dtype: E,
  options: OutOption<E>,
  what = 'cast',
): Promise<Tensor<E>> {
  const { device, stream } = await prepared(source, options, what);
  const { out } = options;
  if (out !== undefined) {
    checkOut(out, { shape: source.shape, dtype, device }, [source], what);
    await enqueueCopy(device, out, source, stream);
    return out;
  }
  return built(allocateTensor(device, source.shape, dtype, stream), (result) =>
    enqueueCopy(device, result, source, stream),
  );
}

/** See Tensor.clone. */
export function cloneTensor<D extends DType>(
  source: Tensor<D>,
  options: OutOption<D>,
): Promise<Tensor<D>> {
  return castTensor(source, source.dtype, options, 'clone');
}

/** See Tensor.contiguous. */
export async function contiguousTensor<D extends DType>(
  source: Tensor<D>,
  options: StreamOption,
): Promise<Tensor<D>> {
  assertTensor(source, 'contiguous');
  if (source.isContiguous) return source.view();
  return castTensor(source, source.dtype, options, 'contiguous');
}

/** See Tensor.copyFrom. */
export async function copyTensor(
  target: Tensor,
  source: Tensor,
  options: StreamOption,
): Promise<void> {
  assertTensor(source, 'copyFrom');
  const { device, stream } = await prepared(target, options, 'copyFrom');
  if (source.device !== target.device) {
    const here = await moveTensor(source, target.device, options);
    try {
      await copyTensor(target, here, options);
    } finally {
      here.dispose();
    }
    return;
  }
  const { shape, strides, offset } = broadcastLayout(source, target.shape);
  assertNoOverlap(target, [source], 'copyFrom');
  const from = { shape, strides, offset, dtype: source.dtype, storage: source.storage };
  await enqueueCopy(device, target, from, stream);
}

/** See Tensor.fill. */
export async function fillTensor(
  target: Tensor,
  value: number | bigint | boolean,
  options: StreamOption,
): Promise<void> {
  const { device, stream } = await prepared(target, options, 'fill');
  assertWritable(target, 'fill');
  await enqueueFill(device, target, value, stream);
}

/** See Tensor.to. The option `stream` belongs to the target device. */
export async function moveTensor<D extends DType>(
  source: Tensor<D>,
  to: DeviceLike,
  options: StreamOption,
): Promise<Tensor<D>> {
  assertTensor(source, 'to');
  const target = deviceCore(to);
  if (target === coreOf(source)) return source.view();
  // A view with gaps is packed where it lies; a dense one travels as it is and keeps its strides.
  const dense = isDense(source.shape, source.strides);
  const block = dense ? source.view() : await contiguousTensor(source, {});
  try {
    return await moveBlock(block, target, options);
  } finally {
    block.dispose();
  }
}

async function moveBlock<D extends DType>(
  block: Tensor<D>,
  target: DeviceCore,
  options: StreamOption,
): Promise<Tensor<D>> {
  const stream = target.streamFor(options.stream, 'to');
  const { bytes, dtype, shape, strides } = block;
  const purpose = `${dtype} ${formatShape(shape)}`;
  const storage = target.allocate(bytes, { stream, purpose });
  const result = new Tensor(storage, dtype, { shape, strides, offset: 0 });
  return built(result, async () => {
    if (bytes === 0) return;
    const from = block.storage;
    const source = coreOf(block);
    if (source.kind === 'cuda' && target.kind === 'cuda') {
      from.beforeRead(stream);
      target.move(storage, 0, from, block.byteOffset, bytes, stream);
      from.noteRead(stream);
      storage.noteWrite(stream);
      return;
    }
    const host = new Uint8Array(bytes);
    const reading = source.defaultStream;
    from.beforeRead(reading);
    const arrived = source.download(from, block.byteOffset, host, reading);
    from.noteRead(reading);
    await arrived;
    const taken = target.upload(storage, 0, host, stream);
    storage.noteWrite(stream);
    await taken;
  });
}
