import type { Device } from '../device.js';
import { RecentMap } from '../recent-map.js';

/** The calls of an operation that are remembered: on each device as many as it remembers kernels, those that were made last. */
export class KnownCalls<T> {
  // Devices live as long as the process, and are few.
  readonly #calls: { readonly device: Device; readonly byKey: RecentMap<string, T> }[] = [];

  get(device: Device, key: string): T | undefined {
    return this.#of(device)?.get(key);
  }

  set(device: Device, key: string, call: T): void {
    let byKey = this.#of(device);
    if (byKey === undefined) {
      byKey = new RecentMap<string, T>(() => device.kernelLimit);
      this.#calls.push({ device, byKey });
    }
    byKey.set(key, call);
  }

  #of(device: Device): RecentMap<string, T> | undefined {
    for (const one of this.#calls) if (one.device === device) return one.byKey;
    return undefined;
  }
}
