import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { YoungOwners } from './young-owners.js';

describe('what was made last', () => {
  it('is watched when the task has ended, unless it was done with before', async () => {
    const watched: object[] = [];
    const young = new YoungOwners<{ young: number }>((_, one) => watched.push(one));
    const [a, b, c] = [{ young: -1 }, { young: -1 }, { young: -1 }];
    for (const one of [a, b, c]) young.add({}, one);
    expect(young.delete(b)).toBe(true);
    expect(young.delete(b)).toBe(false);
    expect(young.count).toBe(2);
    expect(watched).toEqual([]);
    await turn();
    expect(watched).toEqual([a, c]);
    expect(young.count).toBe(0);
    expect(young.delete(a)).toBe(false);
  });

  it('is watched within the task where there are many', () => {
    const watched: object[] = [];
    const young = new YoungOwners<{ young: number }>((_, one) => watched.push(one));
    const all = Array.from({ length: 600 }, () => ({ young: -1 }));
    for (const one of all) young.add({}, one);
    expect(watched.length).toBeGreaterThanOrEqual(256);
    expect(watched).toEqual(all.slice(0, watched.length));
    expect(young.count).toBe(all.length - watched.length);
  });
});
