import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, vi } from 'vitest';

/** Where Node tells of each child process that is made. */
const CHANNEL = 'child_process';

/** A compiler at work, and not one that is asked for its version. */
const compiles = ({ spawnargs }: ChildProcess): boolean =>
  spawnargs.some((argument) => argument.endsWith('kernel.so'));

const isRunning = ({ pid, exitCode, signalCode }: ChildProcess): boolean =>
  pid !== undefined && exitCode === null && signalCode === null;

/**
 * Holds that a call whose kernel is not there yet is given up once its compiler runs: it rejects with the signal's reason, its compilers
 * are killed before they are done, and no memory stays.
 */
export async function expectCompilerStopped(
  call: (signal: AbortSignal) => Promise<unknown>,
  undisposed: () => number,
): Promise<void> {
  const children: ChildProcess[] = [];
  const note = (message: unknown): void => {
    children.push((message as { readonly process: ChildProcess }).process);
  };
  const compilers = (): readonly ChildProcess[] => children.filter(compiles);
  const running = (): readonly ChildProcess[] => compilers().filter(isRunning);
  const before = undisposed();
  const reason = new Error('given up');
  const controller = new AbortController();
  subscribe(CHANNEL, note);
  try {
    const settled = Promise.allSettled([call(controller.signal)]);
    await vi.waitFor(
      () => {
        expect(running()).not.toHaveLength(0);
      },
      { timeout: 10_000, interval: 1 },
    );
    controller.abort(reason);
    const [result] = await settled;
    expect(result).toEqual({ status: 'rejected', reason });
    expect((result as PromiseRejectedResult).reason).toBe(reason);
    await vi.waitFor(() => {
      expect(running()).toHaveLength(0);
    });
    for (const { signalCode } of compilers()) expect(signalCode).toBe('SIGKILL');
  } finally {
    unsubscribe(CHANNEL, note);
  }
  expect(undisposed()).toBe(before);
}
