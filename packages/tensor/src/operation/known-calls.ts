import type { Device } from '../device.js';
import { RecentMap } from '../recent-map.js';

/** The calls of an operation that are remembered: on each device as many as it remembers kernels, those that were made last. */
export class KnownCalls<T> {
  readonly #calls = new WeakMap<Device, RecentMap<string, T>>();

  get(device: Device, key: string): T | undefined {
    return this.#calls.get(device)?.get(key);
  }

  set(device: Device, key: string, call: T): void {
    let calls = this.#calls.get(device);
    if (calls === undefined) {
      calls = new RecentMap<string, T>(() => device.kernelLimit);
      this.#calls.set(device, calls);
    }
    calls.set(key, call);
  }
}
