import {
  dtypeBytes,
  emitCopy,
  planCopy,
  planFill,
  type DType,
  type ElementsPlan,
  type LaunchableKernel,
  type Scalars,
} from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import type { DeviceCore } from './device-core.js';
import { storageElement } from './host-convert.js';
import { elementRange, isDense, isRowMajor, type Layout } from './layout.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';
import type { StorageBlock } from './storage-block.js';
import { waitForRoom, type StreamCore } from './stream-core.js';
import { newStorageArray } from './typed-arrays.js';

/** Typed elements of a storage, as the element kernels see them. */
export interface ElementView extends Layout {
  readonly dtype: DType;
  readonly storage: StorageBlock;
}

/** Kernel values by plan, so that each plan is emitted once and its loaded kernel found by identity. */
const kernels = new RecentMap<string, LaunchableKernel>(() => REMEMBERED_KERNELS);

/** The kernel of a copy or a fill. */
export function elementKernel(plan: ElementsPlan, dialect: 'cpu' | 'cuda'): LaunchableKernel {
  const key = `${dialect} ${JSON.stringify(plan)}`;
  let kernel = kernels.get(key);
  if (kernel === undefined) {
    kernel = emitCopy(plan, dialect);
    kernels.set(key, kernel);
  }
  return kernel;
}

/** Same order of the same elements on both sides, without gaps: one block of bytes. */
function isBlock(a: Layout, b: Layout): boolean {
  if (isRowMajor(a.shape, a.strides) && isRowMajor(b.shape, b.strides)) return true;
  const same = a.strides.every((stride, i) => stride === b.strides[i] || (a.shape[i] ?? 1) < 2);
  return same && isDense(a.shape, a.strides);
}

/**
 * Enqueues a copy with conversion between two views of one shape on one device, which share no memory. Resolves when it
 * is enqueued.
 *
 * @throws the signal's reason
 */
export async function enqueueCopy(
  device: DeviceCore,
  to: ElementView,
  from: ElementView,
  stream: StreamCore,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const size = sizeOfShape(to.shape);
  if (size === 0) return;
  if (to.dtype === from.dtype && isBlock(to, from)) {
    const width = dtypeBytes(to.dtype);
    from.storage.beforeRead(stream);
    to.storage.beforeWrite(stream);
    const { offset: toOffset } = to;
    device.move(
      to.storage,
      toOffset * width,
      from.storage,
      from.offset * width,
      size * width,
      stream,
    );
    from.storage.noteRead(stream);
    to.storage.noteWrite(stream);
    return;
  }
  const { plan, scalars, srcOffset, dstOffset } = planCopy({
    from: from.dtype,
    to: to.dtype,
    shape: to.shape,
    srcStrides: from.strides,
    dstStrides: to.strides,
  });
  const kernel = await device.loadForCall(elementKernel(plan, device.kind), {
    signal,
    values: size,
  });
  await waitForRoom(stream, signal);
  kernel.launch(stream, {
    pointers: [memoryAt(from, srcOffset), memoryAt(to, dstOffset)],
    scalars,
  });
}

/** The memory of a view, `extra` elements behind its start. */
export function memoryAt(
  view: ElementView,
  extra: number,
): { storage: StorageBlock; byteOffset: number; dtype: DType } {
  const byteOffset = (view.offset + extra) * dtypeBytes(view.dtype);
  return { storage: view.storage, byteOffset, dtype: view.dtype };
}

/** The bits of one element. @throws MercerError INVALID_ARGUMENT */
export function patternOf(value: unknown, dtype: DType, what: string): bigint {
  // the usual fill, all bits 0 in every dtype
  if (Object.is(value, 0)) return 0n;
  const element = newStorageArray(dtype, 1);
  (element as { [i: number]: number | bigint })[0] = storageElement(value, dtype, what);
  const bytes = new Uint8Array(8);
  bytes.set(new Uint8Array(element.buffer));
  return new DataView(bytes.buffer).getBigUint64(0, true);
}

/** Enqueues a fill of a view. Resolves when it is enqueued. @throws the signal's reason */
export async function enqueueFill(
  device: DeviceCore,
  to: ElementView,
  value: unknown,
  stream: StreamCore,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const pattern = patternOf(value, to.dtype, 'fill');
  const size = sizeOfShape(to.shape);
  if (size === 0) return;
  if (isDense(to.shape, to.strides)) {
    const width = dtypeBytes(to.dtype);
    const first = (elementRange(to)?.first ?? to.offset) * width;
    to.storage.beforeWrite(stream);
    if (device.memset(to.storage, first, size, width, pattern, stream)) {
      to.storage.noteWrite(stream);
      return;
    }
  }
  const { plan, scalars, dstOffset } = planFill(to);
  const kernel = await device.loadForCall(elementKernel(plan, device.kind), {
    signal,
    values: size,
  });
  await waitForRoom(stream, signal);
  kernel.launch(stream, {
    pointers: [memoryAt(to, dstOffset)],
    scalars: { ...scalars, ...patternScalars(pattern) },
  });
}

/** The bits of one element as the scalars of a fill. */
export function patternScalars(pattern: bigint): Scalars {
  const signed = (bits: bigint): number => Number(BigInt.asIntN(32, bits));
  return { lo: signed(pattern), hi: signed(pattern >> 32n) };
}
