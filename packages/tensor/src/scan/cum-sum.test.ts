import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { cumSum, device, full, tensor } from '../index.js';
import { launches, said } from '../testing/what-happens.test-support.js';
import { cumSumSuite } from './cum-sum-suite.test-support.js';

const where = { device: 'cpu' } as const;

describe('cumulative sums on the CPU', () => {
  cumSumSuite(() => device('cpu'));

  it('are a kernel for each doubling of the distance', async () => {
    using x = await full([2, 8], 1, where);
    // zeros before both scratch rows, a copy, and distances 1, 2 and 4
    expect(await launches(() => cumSum(x))).toBe(6);
    expect(await launches(() => cumSum(x.slice(null, [0, 1])))).toBe(1);
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
