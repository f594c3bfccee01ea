import type { Device } from '../device.js';
import { RecentMap } from '../recent-map.js';

/** What tells calls apart: a number where the layouts of their tensors do. */
export type CallKey = string | number;

/** The calls of an operation that are remembered: on each device as many as it remembers kernels, those that were made last. */
export class KnownCalls<T> {
  // Devices live as long as the process, and are few.
  readonly #calls: { readonly device: Device; readonly byKey: RecentMap<CallKey, T> }[] = [];

  get(device: Device, key: CallKey): T | undefined {
    return this.#of(device)?.get(key);
  }

  set(device: Device, key: CallKey, call: T): void {
    let byKey = this.#of(device);
    if (byKey === undefined) {
      byKey = new RecentMap<CallKey, T>(() => device.kernelLimit);
      this.#calls.push({ device, byKey });
    }
    byKey.set(key, call);
  }

  #of(device: Device): RecentMap<CallKey, T> | undefined {
    for (const one of this.#calls) if (one.device === device) return one.byKey;
    return undefined;
  }
}
