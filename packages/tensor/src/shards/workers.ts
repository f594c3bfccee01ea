import type { Device } from '../device.js';
import type { ShardOptions } from './shard-options.js';

/** Tells of each step of a call that is done. */
export function progressOf(
  total: number,
  onProgress: ShardOptions['onProgress'],
): () => Promise<void> {
  let done = 0;
  return async () => {
    const told: unknown = onProgress?.({ done: ++done, total });
    await told;
  };
}

/** Devices that compute shards of one call side by side: where one fails, the others need not go on. */
export class Workers {
  readonly #ended: AbortSignal | undefined;
  readonly #stop = new AbortController();
  /** Ends with the call's own signal, and with the first error of a device. */
  readonly signal: AbortSignal;

  constructor(ended: AbortSignal | undefined) {
    this.#ended = ended;
    const { signal } = this.#stop;
    this.signal = ended === undefined ? signal : AbortSignal.any([ended, signal]);
  }

  /** Resolves when all are done, or have stopped. @throws the signal's reason; the first error, which is that of all */
  async run(
    devices: readonly Device[],
    work: (device: Device, at: number) => Promise<void>,
  ): Promise<void> {
    const worker = async (device: Device, at: number): Promise<void> => {
      try {
        await work(device, at);
      } catch (error) {
        this.#stop.abort(error);
      }
    };
    await Promise.all(devices.map(worker));
    this.#ended?.throwIfAborted();
    this.#stop.signal.throwIfAborted();
  }
}
