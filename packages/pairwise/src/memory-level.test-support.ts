import type { Device } from '@mercer/tensor';
import { expect } from 'vitest';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

/**
 * Expects that `calls` calls keep nothing: no more bytes than after a tenth as many.
 */
export async function expectLevelMemory(
  device: Device,
  calls: number,
  call: () => void,
): Promise<void> {
  const settle = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i++) {
      if (i % 64 === 0) await device.defaultStream.room();
      call();
    }
    await device.synchronize();
    return undisposedBytes(device);
  };
  const before = await settle(calls / 10);
  const after = await settle(calls);
  expect(after).toBe(before);
}
