import type { Device } from '../device.js';
import { RecentMap } from '../recent-map.js';

/** The calls of an operation that are remembered: on each device as many as it remembers kernels, those that were made last. */
export class KnownCalls<T> {
  readonly #calls = new WeakMap<Device, RecentMap<string, T>>();

  get(device: Device, key: string): T | undefined {
    return this.#calls.get(device)?.get(keyFor(device, key));
  }

  set(device: Device, key: string, call: T): void {
    let calls = this.#calls.get(device);
    if (calls === undefined) {
      calls = new RecentMap<string, T>(() => device.kernelLimit);
      this.#calls.set(device, calls);
    }
    calls.set(keyFor(device, key), call);
  }
}

/** What MERCER_CPU orders can change in the life of a process. */
const keyFor = (device: Device, key: string): string =>
  device.kind === 'cpu' ? `${process.env['MERCER_CPU'] ?? ''} ${key}` : key;
