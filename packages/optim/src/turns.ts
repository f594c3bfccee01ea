import { AsyncLocalStorage } from 'node:async_hooks';
import { MercerError } from '@mercer/tensor';
import { belongsToPrepared } from '@mercer/tensor/operation';

/** The last work with each state: it settles when that has ended, and never rejects. */
const last = new WeakMap<object, Promise<void>>();

/** Work with a state, within which something runs. */
interface Turn {
  readonly state: object;
  readonly outer: Turn | undefined;
  hasEnded: boolean;
}

const turns = new AsyncLocalStorage<Turn>();

/**
 * Work with a state, which begins when all work with it that was begun before has ended, failed or not: steps that are not awaited come one after another, and within a function that is prepared they are part of it.
 *
 * @throws MercerError INVALID_ARGUMENT within other work with the same state, for which it would wait for ever
 */
export async function inTurn<T>(state: unknown, what: string, work: () => Promise<T>): Promise<T> {
  // what is no state is refused by the work
  if (typeof state !== 'object' || state === null) return work();
  const outer = turns.getStore();
  for (let turn = outer; turn !== undefined; turn = turn.outer) {
    if (turn.state !== state || turn.hasEnded) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the state is in the middle of a step, whose function (perSample or evaluate) calls this. Call it when the step has ended.`,
    );
  }
  const turn: Turn = { state, outer, hasEnded: false };
  const begin = (): Promise<T> => turns.run(turn, work);
  const before = last.get(state);
  const now = before === undefined ? begin() : before.then(begin);
  const end = (): void => {
    turn.hasEnded = true;
  };
  const ended = now.then(end, end);
  belongsToPrepared(now);
  last.set(state, ended);
  try {
    return await now;
  } finally {
    if (last.get(state) === ended) last.delete(state);
  }
}
