import { device } from '@mercer/core';
import { expect, it } from 'vitest';
import { hostTimeUs } from './host-time.js';
import { measureBriefly } from './measuring-time.js';

it('a first look makes a tenth of the calls of a round, which are shared among them as ever', async () => {
  const callsOfARound = async (): Promise<number> => {
    let [calls, rounds] = [0, 0];
    const call = (): void => {
      calls++;
    };
    const before = (): void => {
      rounds++;
    };
    const warmUp = { rounds: 1, ms: 1 };
    await hostTimeUs(device('cpu'), call, { calls: 20, rounds: 3, warmUp, before });
    return calls / rounds;
  };
  expect(await callsOfARound()).toBe(20);
  measureBriefly();
  expect(await callsOfARound()).toBe(2);
});
