import { describe, expect, it } from 'vitest';
import { CALLS_A_TURN } from './event-loop-turn.js';
import { tensor } from './index.js';

/** How many calls of `call` are awaited, one after the other, until `isHeard`. */
async function callsUntil(
  isHeard: () => boolean,
  call: () => PromiseLike<object>,
): Promise<number> {
  for (let count = 0; count < 100 * CALLS_A_TURN; count++) {
    if (isHeard()) return count;
    await call();
  }
  return Infinity;
}

describe('a loop of small calls that are awaited', () => {
  it('leaves turns to the event loop', async () => {
    const x = await tensor([[1, 2]], { device: 'cpu' });
    const out = await x.mul(2);
    const call = (): PromiseLike<object> => x.mul(2, { out });
    await call();
    let isHeard = false;
    setImmediate(() => (isHeard = true));
    // an immediate that was asked for in another one comes a turn later
    expect(await callsUntil(() => isHeard, call)).toBeLessThanOrEqual(2 * CALLS_A_TURN + 1);
  });

  it('heeds a signal while it waits for a turn', async () => {
    const x = await tensor([[1, 2]], { device: 'cpu' });
    await x.mul(2);
    const many = Array.from({ length: CALLS_A_TURN }, () => x.mul(2));
    const stop = new AbortController();
    const late = x.mul(2, { signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(late).rejects.toThrow('stopped');
    const values = await Promise.all(many.map(async (one) => (await one).toNested()));
    expect(values).toEqual(many.map(() => [[2, 4]]));
  });

  it('gives calls their order, whichever of them wait', async () => {
    const x = await tensor([1], { device: 'cpu' });
    const all = Array.from({ length: 3 * CALLS_A_TURN }, () => x.mul(-1, { out: x }));
    await Promise.all([...all, x.add(2, { out: x })]);
    expect(await x.toNested()).toEqual([3]);
  });
});
