import type { Device } from '../device.js';
import { coreOf } from '../operations.js';
import { ambientStream, withAmbientStream } from './ambient-stream.js';
import { pieceCopier } from './piece-copies.js';
import { preparedWork } from './prepared-work.js';

/** What was asked for, by device. */
const asked = new WeakMap<Device, Set<string>>();

/**
 * Asks for the kernels that work on a GPU will launch, all at once, so that they are compiled side by side: the work is called once with nothing launched, and none of it waits for a compiler. Each of its
 * calls gives tensors that hold anything. Once for each device and key; nothing on a CPU, which computes without a compiler first, nor where a function is prepared.
 *
 * @param work launches kernels alone: what reads a value ends the asking, and what it throws is not told, since the work itself will tell it
 */
export async function askAhead(
  device: Device,
  key: string,
  work: () => Promise<unknown>,
): Promise<void> {
  if (device.kind === 'cpu' || ambientStream() !== undefined) return;
  let keys = asked.get(device);
  if (keys === undefined) asked.set(device, (keys = new Set()));
  if (keys.has(key)) return;
  keys.add(key);
  try {
    using stream = coreOf(device).createStream();
    stream.onlyAsks = true;
    await withAmbientStream(stream, async () => {
      await work();
      await preparedWork();
    });
  } catch {
    // told where the work is done
  }
}

/** Asks for the kernels that `prepare` and loops of a device launch themselves: they copy arguments and results, and decide whether there is another repetition. */
export function askForCapture(device: Device): void {
  pieceCopier(coreOf(device)).catch(() => undefined);
}
