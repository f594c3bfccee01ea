import { describe, expect, test } from 'vitest';
import { H200 } from '../testing/h200.test-support.js';
import type { PairwiseDType } from '../dtype.js';
import {
  checkCdistGrad,
  gradProblem,
  normal,
  type GradShape,
} from './cdist-grad-check.test-support.js';
import { fmaConfigs, mmaConfigs } from './cuda/configs.js';
import { planCudaCdistGrad } from './cuda/plan.js';
import type { CudaCdistGradPlan, FmaConfig, MmaConfig } from './plan-types.js';

const ODD: GradShape = { m: 37, n: 11, o: 5, k: 43, gap: 2, offset: 1 };
const ALIGNED: GradShape = { m: 36, n: 9, o: 17, k: 68, gap: 4 };

function plan(
  strategy: 'fma' | 'mma',
  dtype: PairwiseDType,
  p: number,
  shape: GradShape,
  options: { aligned?: boolean; memory?: boolean } = {},
): CudaCdistGradPlan {
  return planCudaCdistGrad(gradProblem(dtype, p, shape, options), H200, { strategy });
}

/** The same plan with another configuration and split. */
function withConfig(
  base: CudaCdistGradPlan,
  config: FmaConfig | MmaConfig,
  splitK = 1,
): CudaCdistGradPlan {
  const part = base.strategy === 'fma' ? { fma: config } : { mma: config };
  return { ...base, ...part, splitK } as CudaCdistGradPlan;
}

describe('cdist-grad CUDA text, run on the CPU', () => {
  test.each([1, 2, 1.3, 0.5, 1.5, 7.5])('p = %d: both strategies, odd sizes, no alignment', (p) => {
    for (const strategy of ['fma', 'mma'] as const) {
      checkCdistGrad(plan(strategy, 'float32', p, ODD), ODD, p);
    }
  });

  test.each([1, 2, 1.3, 0.5])('p = %d in float64', (p) => {
    checkCdistGrad(plan('fma', 'float64', p, ODD), ODD, p);
  });

  test('16-byte copies and stores, several tiles along o and k', () => {
    for (const strategy of ['fma', 'mma'] as const) {
      const aligned = plan(strategy, 'float32', 2, ALIGNED, { aligned: true });
      expect(aligned.summary).not.toContain('unaligned');
      checkCdistGrad(aligned, ALIGNED, 2);
    }
    checkCdistGrad(plan('fma', 'float64', 2, ALIGNED, { aligned: true }), ALIGNED, 2);
  });

  test('a tail of k repeats the last point, so that nothing overflows that is not there', () => {
    // The differences are near 1e6; from a point of zeros they would be 1e13, and their cubes infinite.
    const shape: GradShape = { m: 4, n: 2, o: 2, k: 36 };
    const values = (operand: string): number =>
      operand === 'a' || operand === 'c' ? normal() : 1e13 + 1e7 * normal();
    for (const aligned of [false, true]) {
      for (const strategy of ['fma', 'mma'] as const) {
        const chosen = plan(strategy, 'float32', 4, shape, { aligned });
        checkCdistGrad(chosen, shape, 4, { values });
      }
    }
  });

  test('a zero difference adds exactly 0, whatever p is', () => {
    const shape: GradShape = { m: 3, n: 2, o: 2, k: 5 };
    for (const p of [0.5, 1, 1.3, 2, 4.3]) {
      for (const memory of [undefined, [p]]) {
        for (const strategy of ['fma', 'mma'] as const) {
          const options = { memory: memory !== undefined };
          const chosen = plan(strategy, 'float32', p, shape, options);
          const check = memory === undefined ? {} : { memory };
          checkCdistGrad(chosen, shape, p, {
            ...check,
            values: (operand) => (operand === 'b' || operand === 'd' ? 0.1 : normal()),
          });
        }
      }
    }
  });

  test('the published bound is not loose by orders of magnitude', () => {
    const shape: GradShape = { m: 8, n: 4, o: 16, k: 640 };
    for (const strategy of ['fma', 'mma'] as const) {
      const share = checkCdistGrad(plan(strategy, 'float32', 2, shape), shape, 2);
      const uniform = checkCdistGrad(plan(strategy, 'float32', 3, shape), shape, 3, {
        values: () => Math.abs(normal()),
      });
      console.log(`${strategy}: ${share.toFixed(3)} and ${uniform.toFixed(3)} of the bound`);
      expect(share).toBeGreaterThan(0.001);
    }
  });

  test('p in memory, one for each batch entry', () => {
    const shape: GradShape = { m: 9, n: 5, o: 3, k: 21, batch: 4, shared: ['a', 'c'] };
    const memory = [0.7, 1, 2, 4.3];
    for (const strategy of ['fma', 'mma'] as const) {
      const chosen = plan(strategy, 'float32', 2, shape, { memory: true });
      expect(chosen.power).toBe('accurate');
      checkCdistGrad(chosen, shape, 2, { memory });
    }
    checkCdistGrad(plan('fma', 'float64', 2, shape, { memory: true }), shape, 2, { memory });
  });

  test('parts of k, added by a second kernel', () => {
    const shape: GradShape = { m: 10, n: 6, o: 3, k: 270, batch: 2, shared: ['b', 'd'] };
    for (const strategy of ['fma', 'mma'] as const) {
      const base = plan(strategy, 'float32', 2, shape);
      for (const splitK of [2, 5, 12]) checkCdistGrad({ ...base, splitK }, shape, 2);
    }
  });

  test('every configuration of the table', () => {
    const shape: GradShape = { m: 21, n: 9, o: 6, k: 35, gap: 1 };
    for (const weight of ['light', 'heavy'] as const) {
      const p = weight === 'light' ? 2 : 4.3;
      const bases = [plan('fma', 'float32', p, shape), plan('fma', 'float64', p, shape)];
      for (const base of bases) {
        for (const config of fmaConfigs(base.dtype, weight)) {
          checkCdistGrad(withConfig(base, config), shape, p);
        }
      }
      for (const config of mmaConfigs(weight)) {
        checkCdistGrad(withConfig(plan('mma', 'float32', p, shape), config), shape, p);
      }
    }
  });

  test('empty sums are 0, empty outputs need no block', () => {
    for (const strategy of ['fma', 'mma'] as const) {
      const shape: GradShape = { m: 5, n: 3, o: 2, k: 0 };
      checkCdistGrad(plan(strategy, 'float32', 1.3, shape), shape, 1.3);
    }
  });
});
