import type { Device } from '../device.js';

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
