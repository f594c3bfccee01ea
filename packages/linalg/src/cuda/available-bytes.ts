import type { Device } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';

/** Bytes that can still be allocated on a GPU: free there or kept by its pool, and below the limit where one is set. */
export function availableBytes(gpu: Device): number {
  const { freeBytes, liveBytes } = gpu.memory();
  const { reservedBytes, usedBytes } = nativeStream(gpu.defaultStream).device.pool;
  const { memoryLimitBytes = Infinity } = gpu;
  return Math.max(0, Math.min(freeBytes + reservedBytes - usedBytes, memoryLimitBytes - liveBytes));
}
