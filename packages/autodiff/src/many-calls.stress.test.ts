import { device, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { codeOf } from '../test/code-of.mjs';
import { valueAndGrad } from './index.js';

/** As many as a training has steps. */
const CALLS = 10_000;

it(
  '10,000 gradients, and 1000 that fail, leave the memory as it was',
  { timeout: 120_000 },
  async () => {
    const cpu = device('cpu');
    using x = await tensor(Float64Array.of(1, 2, 3), { device: cpu });
    const run = valueAndGrad((v: Tensor) => v.softmax().mul(v.exp()).sum());
    const failing = valueAndGrad((v: Tensor) => v.softmax().mul(v.exp()));
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
