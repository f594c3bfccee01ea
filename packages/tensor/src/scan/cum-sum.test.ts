import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { cumSum, device, full, tensor } from '../index.js';
import { launches, said } from '../testing/what-happens.test-support.js';
import { cumSumSuite } from './cum-sum-suite.test-support.js';

const where = { device: 'cpu' } as const;

describe('cumulative sums on the CPU', () => {
  cumSumSuite(() => device('cpu'));

  it('are one kernel, with copies of what it cannot read or write as it lies', async () => {
    using x = await full([2, 3, 8], 1, where);
    expect(await launches(() => cumSum(x))).toBe(1);
    expect(await launches(() => cumSum(x, 0))).toBe(1);
    expect(await launches(() => cumSum(x.slice(null, [0, 2])))).toBe(2);
  });

  it('add whole numbers exactly, beyond 2^53 too', async () => {
    const values = [2n ** 53n, 1n, 1n, -(2n ** 62n), 2n ** 62n, 5n];
    using x = await tensor(BigInt64Array.from(values), where);
    const sums = values.map((_, at) => values.slice(0, at + 1).reduce((a, b) => a + b));
    expect(await x.cumSum().toNested()).toEqual(sums);
  });

  it('keep no memory, and take results before they are awaited', async () => {
    using x = await tensor([1, 2, 3], where);
    const kept = await memoryKept(x.device, async () => {
      for (let k = 0; k < 20; k++) (await x.cumSum()).dispose();
    });
    expect(kept).toEqual(NOTHING);
    expect(await x.mul(2).cumSum().add(1).toNested()).toEqual([3, 7, 13]);
  });

  it('refuse with values and a remedy', async () => {
    using x = await full([2, 3], 1, where);
    const cases: readonly (readonly [string, () => unknown])[] = [
      ['an axis that is not there', () => cumSum(x, 2)],
      ['an axis that is none', () => cumSum(x, 'rows' as never)],
      ['rank 0', () => cumSum(x.slice(0, 0))],
      ['nothing', () => cumSum(undefined as never)],
      [
        'an output of another dtype',
        () => cumSum(x, 0, { out: full([2, 3], 1, { dtype: 'float64', ...where }) as never }),
      ],
      ['an output that is read', () => cumSum(x, 0, { out: x })],
    ];
    const messages: Record<string, string> = {};
    for (const [name, work] of cases) messages[name] = await said(work);
    expect(messages).toMatchInlineSnapshot(`
      {
        "an axis that is none": "INVALID_ARGUMENT cumSum: axis "rows" of shape [2, 3]. Use -2 to 1.",
        "an axis that is not there": "INVALID_ARGUMENT cumSum: axis 2 of shape [2, 3]. Use -2 to 1.",
        "an output of another dtype": "INVALID_ARGUMENT cumSum: out is a Promise. Did you forget await?",
        "an output that is read": "OVERLAP cumSum: the output float32 [2, 3] tensor #n on cpu shares memory with the input float32 [2, 3] tensor #n on cpu. Pass an output of its own, or clone the input.",
        "nothing": "INVALID_ARGUMENT cumSum: x: expected a tensor, got undefined. Make one with tensor(data).",
        "rank 0": "SHAPE_MISMATCH cumSum: x has no axis to sum along. Call reshape([1]) first.",
      }
    `);
  });
});
