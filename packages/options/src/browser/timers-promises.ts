/**
 * Of `node:timers/promises`, where a bundler makes a program for browsers.
 *
 * @packageDocumentation
 */
import { setImmediate as soon } from './turns.js';

export const setImmediate = (): Promise<void> =>
  new Promise((resolve) => {
    soon(resolve);
  });

const later = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    globalThis.setTimeout(resolve, ms);
  });
export { later as setTimeout };
