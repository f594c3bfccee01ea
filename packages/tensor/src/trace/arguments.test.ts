import { describe, expect, it } from 'vitest';
import { Arguments } from './arguments.js';

describe('arguments of a call', () => {
  it('are their own elements where none is a list or a record', () => {
    const all = [1, 'sum', undefined, null];
    const given = Arguments.of(all);
    expect(given.all).toBe(all);
    expect(given.flat).toBe(all);
    const others = [2, 'mean', 3, 4];
    expect(given.with(others)).toMatchObject({ all: others, flat: others });
  });

  it('have the elements of lists and records in their order, and others take their places', () => {
    const axes = [[0, 1]];
    const given = Arguments.of([1, [2, { b: 3, c: [4] }], { d: 5, e: { f: 6 } }, axes]);
    // lists of lists are data of the host
    expect(given.flat).toEqual([1, 2, 3, 4, 5, 6, [0, 1]]);
    const others = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const { all, flat } = given.with(others);
    expect(flat).toBe(others);
    expect(all).toEqual(['a', ['b', { b: 'c', c: ['d'] }], { d: 'e', e: { f: 'f' } }, ['g']]);
  });

  it('that are replaced by themselves stay the same lists and records', () => {
    const [list, record] = [[1, 2], { a: 3 }];
    const { all } = Arguments.of([list, record]).with([1, 2, 3]);
    expect(all[0]).toBe(list);
    expect(all[1]).toBe(record);
  });
});
