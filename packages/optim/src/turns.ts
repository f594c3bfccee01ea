/** The last work with each state: it settles when that has ended, and never rejects. */
const last = new WeakMap<object, Promise<void>>();

/**
 * Work with a state, which begins when all work with it that was begun before has ended, failed or not: steps that are not awaited come one after another. A step of a state inside
 * another step of it would wait for itself.
 */
export async function inTurn<T>(state: unknown, work: () => Promise<T>): Promise<T> {
  // what is no state is refused by the work
  if (typeof state !== 'object' || state === null) return work();
  const before = last.get(state);
  const now = before === undefined ? work() : before.then(work);
  const ended = now.then(
    () => undefined,
    () => undefined,
  );
  last.set(state, ended);
  try {
    return await now;
  } finally {
    if (last.get(state) === ended) last.delete(state);
  }
}
