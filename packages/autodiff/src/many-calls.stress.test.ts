import { device, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { codeOf } from '../test/code-of.mjs';
import { valueAndGrad } from './index.js';

/** With `MERCER_TEST_FULL=1` as many as a training has steps. What one call keeps is seen at any number. */
const CALLS = process.env['MERCER_TEST_FULL'] === '1' ? 10_000 : 1000;

it(
  'many gradients, and many that fail, leave the memory as it was',
  { timeout: 120_000 },
  async () => {
    const cpu = device('cpu');
    using x = await tensor(Float64Array.of(1, 2, 3), { device: cpu });
    const run = valueAndGrad((v: Tensor) => v.square().sum());
    const failing = valueAndGrad((v: Tensor) => v.square());
    const step = async (k: number): Promise<void> => {
      const { value, grad } = await run(x);
      value.dispose();
      grad.dispose();
      if (k % 10 === 0) expect(await codeOf(() => failing(x))).toBe('NOT_SCALAR');
    };
    await step(0);
    const kept = await memoryKept(cpu, async () => {
      for (let k = 0; k < CALLS; k++) await step(k);
      await cpu.synchronize();
    });
    expect(kept).toEqual(NOTHING);
  },
);
