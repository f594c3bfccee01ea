import { describeValue } from '@mercer/options';
import { MercerError } from './mercer-error.js';
import type { Stream } from './device.js';
import { streamFor } from './stream-core.js';

/** What a stream takes for the work of {@link timeSpan}. */
export interface TimedSpan {
  /** Milliseconds from the end of what was enqueued before to the end of all work. Waits until it is done. */
  milliseconds(): Promise<number>;
}

/**
 * Enqueues work and measures it with one event before and one behind it, so that the launches between stay as they are. Time in
 * which the stream waits for the host counts, also before the first launch. Resolves when the work is enqueued, and does not
 * wait for it.
 *
 * @param work enqueues on `stream`; what it enqueues elsewhere is not measured
 * @throws what `work` throws; MercerError INVALID_ARGUMENT, DISPOSED for the stream
 *
 * @example
 * ```ts
 * import { device, full, timeSpan } from '@mercer/tensor';
 *
 * const cpu = device('cpu');
 * const span = await timeSpan(cpu.defaultStream, async () => {
 *   const ones = await full([1000], 1, { device: cpu });
 *   await ones.cast('float64');
 * });
 * console.log((await span.milliseconds()) >= 0); // true
 * ```
 */
export async function timeSpan(stream: Stream, work: () => unknown): Promise<TimedSpan> {
  const given = stream as Stream | null | undefined;
  if (given === undefined || given === null || typeof work !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `timeSpan: got ${describeValue(given)} and ${describeValue(work)}. Pass a stream, such as device.defaultStream, and a function that enqueues on it.`,
    );
  }
  const core = streamFor(given.device, given, 'timeSpan');
  const first = core.recordTimed();
  try {
    await work();
  } catch (error) {
    first.dispose();
    throw error;
  }
  const last = core.recordTimed();
  const measure = async (): Promise<number> => {
    try {
      await last.synchronize();
      return last.elapsedMs(first as never);
    } finally {
      first.dispose();
      last.dispose();
    }
  };
  let taken: Promise<number> | undefined;
  return { milliseconds: () => (taken ??= measure()) };
}
