import type { Device } from '@mercer/tensor';

/** Bytes that can still be allocated: what is free on the device, and below the limit where one is set. */
export function availableBytes(device: Device): number {
  const { freeBytes, liveBytes } = device.memory();
  const { memoryLimitBytes = Infinity } = device;
  return Math.max(0, Math.min(freeBytes, memoryLimitBytes - liveBytes));
}
