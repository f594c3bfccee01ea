import type { Device, DeviceMemory } from '@mercer/tensor';
import { expect } from 'vitest';

/**
 * Expects that `calls` calls keep nothing: neither bytes nor storages are more than after a tenth as many. They may be
 * fewer, since a collection finds tensors that earlier tests left.
 */
export async function expectLevelMemory(
  device: Device,
  calls: number,
  call: () => void,
): Promise<void> {
  const settle = async (count: number): Promise<DeviceMemory> => {
    for (let i = 0; i < count; i++) {
      if (i % 64 === 0) await device.defaultStream.room();
      call();
    }
    await device.synchronize();
    return device.memory();
  };
  const before = await settle(calls / 10);
  const after = await settle(calls);
  expect(after.liveBytes).toBeLessThanOrEqual(before.liveBytes);
  expect(after.liveStorages).toBeLessThanOrEqual(before.liveStorages);
}
