import type { Stream } from './device.js';
import { observeLaunches } from './profiler.js';
import { streamFor, type NativeEvent } from './stream-core.js';

/** What a stream takes for the work of {@link timeSpan}. */
export interface TimedSpan {
  /** Milliseconds from the start of the first launch to the end of all work; 0 without a launch. Waits until it is done. */
  milliseconds(): Promise<number>;
}

/**
 * Enqueues work and measures it with one event before its first launch on the stream and one behind its last, so that the
 * launches between stay as they are; time in which the stream waits for the host counts. Resolves when the work is enqueued, and
 * does not wait for it. A profile that is being taken goes on.
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
  let begin: NativeEvent | undefined;
  const giveBack = observeLaunches((previous) => ({
    begin: (launching) => {
      if (launching === core) begin ??= core.recordTimed();
      return previous?.begin(launching);
    },
    end: (...launch) => previous?.end(...launch),
  }));
  try {
    await work();
  } catch (error) {
    begin?.dispose();
    throw error;
  } finally {
    giveBack();
  }
  if (begin === undefined) return { milliseconds: () => Promise.resolve(0) };
  const first = begin;
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
