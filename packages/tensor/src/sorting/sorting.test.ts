import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { argSort, device, full, sort, tensor, topK, zeros, type Tensor } from '../index.js';
import { launches, said } from '../testing/what-happens.test-support.js';
import { sortingSuite } from './sorting-suite.test-support.js';

const where = { device: 'cpu' } as const;

describe('sorted elements on the CPU', () => {
  sortingSuite(() => device('cpu'));
});

describe('operations that sort', () => {
  it('launch one kernel, and copies of what it cannot read or write as it lies', async () => {
    using x = await full([2, 3, 8], 1, where);
    expect(await launches(() => argSort(x))).toBe(1);
    expect(await launches(() => argSort(x.slice(0, null, [0, 7])))).toBe(1);
    expect(await launches(() => argSort(x, 0))).toBe(2);
    expect(await launches(() => argSort(x.slice(null, [0, 2], [1, 8])))).toBe(2);
    expect(await launches(() => sort(x.slice([0, 0])))).toBe(0);
  });

  it('keep no memory but their results, and take results before they are awaited', async () => {
    using x = await tensor([3, 1, 2], where);
    const kept = await memoryKept(x.device, async () => {
      for (let k = 0; k < 20; k++) {
        for (const one of [x.sort(), x.argSort()]) (await one).dispose();
        for (const one of Object.values<Tensor>({ ...(await x.topK(2)) })) one.dispose();
        for (const one of Object.values<Tensor>({ ...(await x.unique()) })) one.dispose();
        await expect(x.topK(4)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
    });
    expect(kept).toEqual(NOTHING);
    expect(await x.mul(2).sort().add(1).toNested()).toEqual([3, 5, 7]);
    expect(await x.mul(2).argSort().toNested()).toEqual([1, 2, 0]);
  });

  it('have read what later calls overwrite', async () => {
    using x = await tensor([3, 1, 2], where);
    const sorted = x.sort();
    await x.fill(9);
    expect(await sorted.toNested()).toEqual([1, 2, 3]);
  });

  it('may write into what they sort', async () => {
    using x = await tensor([3, 1, 2], where);
    await x.copyFrom(x.sort());
    expect(await x.toNested()).toEqual([1, 2, 3]);
  });

  it('refuse with values and a remedy', async () => {
    using x = await full([2, 3], 1, where);
    using other = await zeros([2], where);
    const cases: readonly (readonly [string, () => unknown])[] = [
      ['an axis that is not there', () => sort(x, 2)],
      ['an axis that is none', () => argSort(x, 'rows' as never)],
      ['rank 0', () => sort(x.slice(0, 0))],
      ['an order that is none', () => argSort(x, 0, { descending: 'yes' as never })],
      ['sort of nothing', () => sort(undefined as never)],
      ['argSort of nothing', () => argSort([1] as never)],
      ['an output of another shape', () => sort(x, 0, { out: other })],
      ['an output that is read', () => sort(x, 0, { out: x })],
      ['an output of another dtype', () => argSort(x, 0, { out: x as never })],
      ['more than there are', () => topK(x, 4)],
      ['a part of an element', () => topK(x, 0.5)],
      ['an end that is none', () => topK(x, 1, 0, { largest: 1 as never })],
      ['topK of nothing', () => topK(null as never, 1)],
      ['more than is sorted', () => argSort(other.slice([0, 1]).broadcastTo([2 ** 30 + 1]))],
    ];
    const messages: Record<string, string> = {};
    for (const [name, work] of cases) messages[name] = await said(work);
    expect(messages).toMatchInlineSnapshot(`
      {
        "a part of an element": "INVALID_ARGUMENT topK: k is 0.5 for axis 1 of float32 [2, 3] tensor #n on cpu. Pass an integer from 0 to 3.",
        "an axis that is none": "INVALID_ARGUMENT argSort: axis "rows" of shape [2, 3]. Use -2 to 1.",
        "an axis that is not there": "INVALID_ARGUMENT sort: axis 2 of shape [2, 3]. Use -2 to 1.",
        "an end that is none": "INVALID_ARGUMENT topK: largest is 1. Pass true or false.",
        "an order that is none": "INVALID_ARGUMENT argSort: descending is "yes". Pass true or false.",
        "an output of another dtype": "DTYPE_MISMATCH argSort: out is float32 [2, 3] tensor #n on cpu and the result is int32. Allocate it with dtype 'int32'.",
        "an output of another shape": "SHAPE_MISMATCH takeAlongAxis: out is float32 [2] tensor #n on cpu and the result has shape [2, 3]. Allocate it with that shape.",
        "an output that is read": "OVERLAP takeAlongAxis: the output float32 [2, 3] tensor #n on cpu shares memory with the input float32 [2, 3] tensor #n on cpu. Pass an output of its own, or clone the input.",
        "argSort of nothing": "INVALID_ARGUMENT argSort: x: expected a tensor, got an array of 1. Make one with tensor(data).",
        "more than is sorted": "INVALID_ARGUMENT argSort: axis 0 has 1073741825 elements, at most 1073741824 are sorted. Sort parts of it.",
        "more than there are": "INVALID_ARGUMENT topK: k is 4 for axis 1 of float32 [2, 3] tensor #n on cpu. Pass an integer from 0 to 3.",
        "rank 0": "SHAPE_MISMATCH sort: x has no axis to sort along. Call reshape([1]) first.",
        "sort of nothing": "INVALID_ARGUMENT sort: x: expected a tensor, got undefined. Make one with tensor(data).",
        "topK of nothing": "INVALID_ARGUMENT topK: x: expected a tensor, got null. Make one with tensor(data).",
      }
    `);
  });
});
