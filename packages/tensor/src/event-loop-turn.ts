import { setImmediate } from 'node:timers';

/**
 * Calls like ones before resolve without a turn of the event loop. A program that awaits one small call after the other would keep everything
 * else waiting: timers, sockets, signals, compilers behind. So every so many calls one waits for a turn.
 */

/** Some milliseconds of calls. */
export const CALLS_A_TURN = 64;

let calls = 0;
let next: Promise<void> | undefined;

/** Counts a call. The next turn of the event loop, where the call has to wait for it. */
export function turnBeforeCall(): Promise<void> | undefined {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      calls = 0;
      next = undefined;
      resolve();
    });
  });
  return ++calls > CALLS_A_TURN ? next : undefined;
}
