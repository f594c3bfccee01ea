import type { Stream } from './device.js';
import { streamFor } from './stream-core.js';

/** What a stream takes for the work of {@link timeSpan}. */
export interface TimedSpan {
  /** Milliseconds from the end of what was enqueued before the work to its own end; waits until it is done. */
  milliseconds(): Promise<number>;
}

/**
 * Enqueues work and measures it with one event before and one behind it, so that launches inside stay as they are; time in
 * which the stream waits for the host counts. Resolves when the work is enqueued, and does not wait for it.
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
  const core = streamFor(stream.device, stream, 'timeSpan');
  const begin = core.recordTimed();
  try {
    await work();
  } catch (error) {
    begin.dispose();
    throw error;
  }
  const end = core.recordTimed();
  let taken: Promise<number> | undefined;
  const measure = async (): Promise<number> => {
    try {
      await end.synchronize();
      return end.elapsedMs(begin as never);
    } finally {
      begin.dispose();
      end.dispose();
    }
  };
  return { milliseconds: () => (taken ??= measure()) };
}
