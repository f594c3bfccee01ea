import { expect, vi } from 'vitest';

/** The compilers that this process runs. */
const compilers = (): readonly string[] =>
  process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap');

/**
 * Holds that a call whose kernel is not there yet is given up once its compiler runs: it rejects with the signal's reason, the compiler is
 * stopped, and no memory stays.
 */
export async function expectCompilerStopped(
  call: (signal: AbortSignal) => Promise<unknown>,
  liveBytes: () => number,
): Promise<void> {
  expect(compilers()).toEqual([]);
  const before = liveBytes();
  const reason = new Error('given up');
  const controller = new AbortController();
  const settled = Promise.allSettled([call(controller.signal)]);
  await vi.waitFor(
    () => {
      expect(compilers()).not.toEqual([]);
    },
    { timeout: 10_000, interval: 1 },
  );
  controller.abort(reason);
  const [result] = await settled;
  expect(result).toEqual({ status: 'rejected', reason });
  expect((result as PromiseRejectedResult).reason).toBe(reason);
  await vi.waitFor(() => {
    expect(compilers()).toEqual([]);
  });
  expect(liveBytes()).toBe(before);
}
