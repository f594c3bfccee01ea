import { watchedCount } from './backstop.js';
import type { DeviceMemory } from './device.js';
import { openDevices } from './devices.js';

/** Memory of all devices used so far. */
export interface MemoryReport {
  /** Bytes of all live storages. */
  readonly liveBytes: number;
  /** Tensors neither disposed nor found unreachable; views count each. */
  readonly tensors: number;
  /** Tensors that were collected without having been disposed, and freed by the backstop. */
  readonly leaks: number;
  /**
   * Bytes of storages that were freed because the tensor, or the result not launched yet, that held them last was collected: `liveBytes + leakedBytes` is what was
   * never given back by the program, whenever garbage is collected.
   */
  readonly leakedBytes: number;
  readonly devices: readonly DeviceMemory[];
}

/**
 * What tensors hold at this moment, on all devices of this thread.
 *
 * @example
 * ```ts
 * import { empty, memory } from '@mercer/tensor';
 *
 * const before = memory().liveBytes;
 * const a = empty([1000], { device: 'cpu' });
 * console.log(memory().liveBytes - before); // 4000
 * a.dispose();
 * console.log(memory().liveBytes - before); // 0
 * ```
 */
export function memory(): MemoryReport {
  const devices = openDevices().map((device) => device.memory());
  const sum = (pick: (device: DeviceMemory) => number): number =>
    devices.reduce((total, device) => total + pick(device), 0);
  return {
    liveBytes: sum((device) => device.liveBytes),
    tensors: watchedCount(),
    leaks: sum((device) => device.leaks),
    leakedBytes: sum((device) => device.leakedBytes),
    devices,
  };
}
