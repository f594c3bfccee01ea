import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** A full collection: the engine's own `gc`, made visible for a moment where the program did not ask for it. */
export function collectGarbage(): void {
  collect ??= (globalThis as { gc?: () => void }).gc ?? exposeGc();
  collect();
}

function exposeGc(): () => void {
  try {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as unknown;
    setFlagsFromString('--no-expose-gc');
    if (typeof gc === 'function') return gc as () => void;
  } catch {
    // An engine without these: what was collected by itself is still found.
  }
  return () => undefined;
}
