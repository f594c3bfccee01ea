// Tests of calls that take a signal.
import { setTimeout } from 'node:timers/promises';

/** A signal that aborts when it is looked at for the n-th time, and how often it was. */
function abortingAt(n, reason) {
  const controller = new AbortController();
  const { signal } = controller;
  let looks = 0;
  const look = () => {
    if (++looks === n) controller.abort(reason);
    return looks >= n;
  };
  Object.defineProperty(signal, 'aborted', { get: look });
  signal.throwIfAborted = () => {
    if (look()) throw reason;
  };
  return { signal, looks: () => looks };
}

export function disposeAll(value) {
  if (value === null || !['object', 'function'].includes(typeof value)) return;
  if (typeof value.dispose === 'function') value.dispose();
  else if (!ArrayBuffer.isView(value)) for (const part of Object.values(value)) disposeAll(part);
}

/** What is left once work that was under way has ended, which a call that is given up does not wait for. */
async function leftBehind(left) {
  for (let turn = 0; left() > 0 && turn < 100; turn++) await setTimeout(1);
  return left();
}

/** Up to here every look is tried, then fewer and fewer of them. */
const EVERY_LOOK = process.env.MERCER_TEST_FULL === '1' ? 40 : 10;

export async function abortedEverywhere(call, undisposed) {
  disposeAll(await call(new AbortController().signal));
  const before = undisposed();
  for (let at = 1, last = 0; ; last = at, at += Math.ceil(Math.max(1, (at - EVERY_LOOK) / 2))) {
    const reason = new Error(`given up at look ${at}`);
    const { signal, looks } = abortingAt(at, reason);
    const result = await call(signal).catch((error) => error);
    if (looks() < at) {
      disposeAll(result);
      if (result instanceof Error) throw result;
      return last;
    }
    if (result !== reason) {
      throw new Error(`look ${at} gave ${result} and not the reason`, { cause: result });
    }
    const left = await leftBehind(() => undisposed() - before);
    if (left > 0) throw new Error(`look ${at} left ${left} bytes`);
  }
}
