import { own } from '@mercer/options';
import type { DType } from '@mercer/kernels';
import { inTurn, Turn } from './call-order.js';
import { bytesOf, formatShape, sizeOfShape } from './checked-size.js';
import { isDeviceCore, type DeviceCore } from './device-core.js';
import type { Device, StreamOption, TransferOptions, WorkOptions } from './device.js';
import { enqueueCopy, enqueueFill, type ElementView } from './elementwise.js';
import { isDense, isRowMajor, rowMajorStrides, type Layout } from './layout.js';
import { MercerError } from './mercer-error.js';
import { assertNoOverlap, assertWritable, type MemoryView } from './overlap.js';
import type { StorageBlock } from './storage-block.js';
import { streamFor, waitForRoom, type StreamCore } from './stream-core.js';
import { uploadInPieces } from './upload-array.js';
import { unlessAborted } from './unless-aborted.js';
import { broadcastLayout } from './views.js';

/*
 * What the methods of Tensor do, on views of storages: below the tensor class, which wraps the results.
 */

/** Elements with a name for messages; a tensor is one. */
export interface LabelledView<D extends DType = DType> extends ElementView {
  readonly dtype: D;
  readonly label: string;
}

/** Elements that hold one reference to their storage, which goes to whoever gets them. */
export type OwnedView = ElementView;

/** The class behind a device; every device is made by this package. */
export function coreOf(device: Device): DeviceCore {
  if (isDeviceCore(device)) return device;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `the device ${device.id} was not made by this package. Use device().`,
  );
}

/** Bytes that can still be allocated on a device. @throws MercerError INVALID_ARGUMENT */
export const availableBytes = (device: Device): number => coreOf(device).availableBytes();

/** Row-major elements with undefined content (zeros on the CPU if asked for). */
export function allocateView(
  device: DeviceCore,
  shape: readonly number[],
  dtype: DType,
  options: StreamOption & { readonly zeroed?: boolean },
): OwnedView {
  const layout = { shape, strides: rowMajorStrides(shape), offset: 0 };
  return allocateLayout(device, layout, dtype, options);
}

/** Elements in a dense layout that starts at 0. */
export function allocateLayout(
  device: DeviceCore,
  layout: Layout,
  dtype: DType,
  options: StreamOption & { readonly zeroed?: boolean },
): OwnedView {
  const { stream, zeroed = false } = own(options, 'stream', 'zeroed');
  const { shape, strides } = layout;
  const bytes = bytesOf(sizeOfShape(shape), dtype);
  const storage = device.allocate(bytes, { stream, purpose: purposeOf(shape, dtype), zeroed });
  return { shape, strides, offset: 0, dtype, storage };
}

/** What memory of elements is called in messages. */
export const purposeOf = (shape: readonly number[], dtype: DType): string =>
  `${dtype} ${formatShape(shape)}`;

/** What an output must be. */
export interface ExpectedOut {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly device: Device;
}

/**
 * Checks an output that the caller gave.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export function checkOutView(
  out: LabelledView,
  { shape, dtype, device }: ExpectedOut,
  inputs: readonly MemoryView[],
  what: string,
): void {
  if (out.storage.device !== device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: out is ${out.label} and the result is on ${device.id}. Allocate it there.`,
    );
  }
  if (out.dtype !== dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: out is ${out.label} and the result is ${dtype}. Allocate it with dtype '${dtype}'.`,
    );
  }
  const fits = out.shape.length === shape.length && shape.every((n, i) => n === out.shape[i]);
  if (!fits) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: out is ${out.label} and the result has shape ${formatShape(shape)}. Allocate it with that shape.`,
    );
  }
  assertNoOverlap(out, inputs, what);
}

/** Runs `work` on memory that was just allocated, and gives it back if that fails. */
export async function filled(
  view: OwnedView,
  work: (view: OwnedView) => Promise<void>,
): Promise<OwnedView> {
  try {
    await work(view);
    return view;
  } catch (error) {
    view.storage.dispose();
    throw error;
  }
}

/** Enqueues work that reads and writes elements in the order of calls, on the call's stream. */
function enqueuedInTurn<T>(
  device: Device,
  reads: readonly ElementView[],
  writes: readonly ElementView[],
  options: WorkOptions,
  what: string,
  work: (stream: StreamCore) => Promise<T>,
): Promise<T> {
  const { signal } = options;
  const stream = streamFor(device, options.stream, what);
  signal?.throwIfAborted();
  return inTurn(reads.map(storageOf), writes.map(storageOf), signal, async () => {
    if (!stream.hasRoom()) await waitForRoom(stream, signal);
    return work(stream);
  });
}

const storageOf = ({ storage }: ElementView): StorageBlock => storage;

/** The elements of a tensor, which may be disposed before their turn comes. */
const elementsOf = ({ shape, strides, offset, dtype, storage }: ElementView): ElementView => ({
  shape,
  strides,
  offset,
  dtype,
  storage,
});

/** The stream of a call, once it has room. @throws the signal's reason */
export async function roomOn(
  device: Device,
  { stream, signal }: WorkOptions,
  what: string,
): Promise<StreamCore> {
  const chosen = streamFor(device, stream, what);
  await waitForRoom(chosen, signal);
  return chosen;
}

/** A row-major copy with conversion. */
export async function castView(
  source: LabelledView,
  dtype: DType,
  options: WorkOptions,
  what: string,
): Promise<OwnedView> {
  const device = coreOf(source.storage.device);
  const from = elementsOf(source);
  return enqueuedInTurn(device, [from], [], options, what, (stream) =>
    filled(allocateView(device, from.shape, dtype, { stream }), (to) =>
      enqueueCopy(device, to, from, stream, options.signal),
    ),
  );
}

/** The same into memory of the caller's. */
export async function castInto(
  out: LabelledView,
  source: LabelledView,
  dtype: DType,
  options: WorkOptions,
  what: string,
): Promise<void> {
  const device = coreOf(source.storage.device);
  checkOutView(out, { shape: source.shape, dtype, device }, [source], what);
  const [from, to] = [elementsOf(source), elementsOf(out)];
  await enqueuedInTurn(device, [from], [to], options, what, (stream) =>
    enqueueCopy(device, to, from, stream, options.signal),
  );
}

/** Overwrites a view with another, converted and broadcast. */
export async function copyInto(
  target: LabelledView,
  source: LabelledView,
  options: TransferOptions,
): Promise<void> {
  const device = coreOf(target.storage.device);
  if (source.storage.device !== device) {
    const turn = new Turn([], [target.storage]);
    try {
      const here = await moveView(source, device, options);
      try {
        await turn.run(() => copyInto(target, { ...here, label: source.label }, options));
      } finally {
        here.storage.dispose();
      }
    } finally {
      turn.end();
    }
    return;
  }
  const { shape, strides, offset } = broadcastLayout(source, target.shape);
  assertNoOverlap(target, [source], 'copyFrom');
  const from = { shape, strides, offset, dtype: source.dtype, storage: source.storage };
  const to = elementsOf(target);
  await enqueuedInTurn(device, [from], [to], options, 'copyFrom', (stream) =>
    enqueueCopy(device, to, from, stream, options.signal),
  );
}

/** Overwrites every element with one value. */
export async function fillView(
  target: LabelledView,
  value: unknown,
  options: WorkOptions,
): Promise<void> {
  assertWritable(target, 'fill');
  const device = coreOf(target.storage.device);
  const to = elementsOf(target);
  await enqueuedInTurn(device, [], [to], options, 'fill', (stream) =>
    enqueueFill(device, to, value, stream, options.signal),
  );
}

/** A copy on another device; `options.stream` belongs to that device. */
export async function moveView(
  source: LabelledView,
  target: DeviceCore,
  options: TransferOptions,
): Promise<OwnedView> {
  // A view with gaps is packed where it lies; a dense one travels as it is and keeps its strides.
  if (isDense(source.shape, source.strides)) return moveBlock(source, target, options);
  const packed = await castView(source, source.dtype, { signal: options.signal }, 'to');
  try {
    return await moveBlock(packed, target, options);
  } finally {
    packed.storage.dispose();
  }
}

async function moveBlock(
  block: ElementView,
  target: DeviceCore,
  options: TransferOptions,
): Promise<OwnedView> {
  const { signal } = options;
  signal?.throwIfAborted();
  const stream = streamFor(target, options.stream, 'to');
  return inTurn([block.storage], [], signal, () => moveInTurn(block, target, stream, options));
}

async function moveInTurn(
  block: ElementView,
  target: DeviceCore,
  stream: StreamCore,
  options: TransferOptions,
): Promise<OwnedView> {
  const { dtype, storage: from } = block;
  const bytes = bytesOf(sizeOfShape(block.shape), dtype);
  const first = bytesOf(1, dtype) * block.offset;
  return filled(allocateLayout(target, block, dtype, { stream }), async ({ storage }) => {
    if (bytes === 0) return;
    const source = coreOf(from.device);
    if (source.kind === 'cuda' && target.kind === 'cuda') {
      from.beforeRead(stream);
      target.move(storage, 0, from, first, bytes, stream);
      from.noteRead(stream);
      storage.noteWrite(stream);
      return;
    }
    await moveThroughHost(from, first, storage, stream, options);
  });
}

/** One side is the CPU, whose memory the other device reads or writes directly; it must be still while that happens. */
async function moveThroughHost(
  from: StorageBlock,
  first: number,
  to: StorageBlock,
  stream: StreamCore,
  { signal, onProgress }: TransferOptions,
): Promise<void> {
  const source = coreOf(from.device);
  const target = coreOf(to.device);
  const reading = source.defaultStream;
  from.beforeRead(reading);
  const readable = source.hostView(from, first, to.bytes);
  if (readable !== undefined) {
    await unlessAborted(reading.tailDone(), signal);
    await uploadInPieces(target, to, readable, stream, { signal, onProgress });
    return;
  }
  // The buffer may have come from a pool, with the end of its former life still enqueued.
  await unlessAborted(stream.tailDone(), signal);
  const writable = target.hostView(to, 0, to.bytes) ?? new Uint8Array(to.bytes);
  const arrived = source.download(from, first, writable, reading);
  from.noteRead(reading);
  // One copy in the order of the stream. It writes to memory of the host, which is not given back before it has ended.
  await arrived;
  signal?.throwIfAborted();
  onProgress?.({ done: to.bytes, total: to.bytes });
}

/** Row-major elements: the view itself with one more reference, or a copy. */
export async function contiguousView(
  source: LabelledView,
  options: WorkOptions,
): Promise<OwnedView> {
  if (!isRowMajor(source.shape, source.strides)) {
    return castView(source, source.dtype, options, 'contiguous');
  }
  const { shape, strides, offset, dtype, storage } = source;
  return { shape, strides, offset, dtype, storage: storage.retain() };
}
