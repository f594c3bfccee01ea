/** What is called when a signal aborts: one listener each, since Node warns of a signal with more than ten. */
const calls = new WeakMap<AbortSignal, Set<() => void>>();
const listeners = new WeakMap<AbortSignal, () => void>();

/**
 * Calls a function when a signal aborts. However many wait for a signal, it has one listener, and none when nobody waits.
 *
 * @returns ends that
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  let waiting = calls.get(signal);
  if (waiting === undefined) {
    const all = new Set<() => void>();
    waiting = all;
    const abort = (): void => {
      for (const one of [...all]) one();
    };
    calls.set(signal, all);
    listeners.set(signal, abort);
    signal.addEventListener('abort', abort);
  }
  const own = waiting;
  // of one wait, also where a function waits twice
  const once = (): void => {
    call();
  };
  own.add(once);
  return () => {
    if (!own.delete(once) || own.size > 0) return;
    signal.removeEventListener('abort', listeners.get(signal) as () => void);
    calls.delete(signal);
    listeners.delete(signal);
  };
}
