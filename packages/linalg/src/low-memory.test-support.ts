import type { Device } from '@mercer/tensor';
import { vi } from 'vitest';

/** Runs work as if the device had so many bytes left; what it allocates is not refused. */
export async function withBytesLeft(
  gpu: Device,
  bytes: number,
  work: () => Promise<void>,
): Promise<void> {
  const limit = 2 ** 40;
  const spy = vi.spyOn(gpu, 'memory').mockReturnValue({
    ...gpu.memory(),
    liveBytes: limit - bytes,
    freeBytes: limit,
  });
  gpu.memoryLimitBytes = limit;
  try {
    await work();
  } finally {
    gpu.memoryLimitBytes = undefined;
    spy.mockRestore();
  }
}
