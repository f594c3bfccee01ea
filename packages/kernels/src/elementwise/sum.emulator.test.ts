import { describe, expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { emitSum, planSum } from './emit-sum.js';

describe('sums over an axis in the emulator', () => {
  test.each(['each', 'block'] as const)('sums over an axis: %s', (mode) => {
    const [outer, count, inner] = mode === 'each' ? [3, 5, 70] : [2, 700, 3];
    const source = new Float32Array(outer * count * inner).map(() => random());
    const out = new Float32Array(outer * inner);
    const plan = planSum({ from: 'float32', to: 'float32', outputs: outer * inner, count });
    expect(plan.mode).toBe(mode);
    const scalars = { outer, count, inner, strideOuter: count * inner, strideCount: inner };
    runCudaKernel(emitSum(plan, 'cuda'), {
      scalars: { ...scalars, strideInner: 1 },
      pointers: [source, out],
    });
    out.forEach((x, index) => {
      const [o, i] = [Math.floor(index / inner), index % inner];
      let sum = 0;
      for (let j = 0; j < count; j++) sum += source[(o * count + j) * inner + i] ?? NaN;
      expect(Math.abs(x - sum)).toBeLessThan(2 ** -24 * sum * 1.001);
    });
  });
});
