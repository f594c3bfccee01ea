import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CpuLimits } from '../device-limits.js';
import { fusesProducts, type CpuLevel } from '../emit/cpu-vector.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import {
  checkCdistGrad,
  gradProblem,
  normal,
  type GradShape,
} from './cdist-grad-check.test-support.js';
import { planCpuCdistGrad } from './cpu/plan.js';
import { emitCdistGrad } from './emit.js';
import type { CpuCdistGradPlan } from './plan-types.js';
import { plainCopy } from '../testing/plain-copy.test-support.js';

const levels = runnableLevels();
const highest = levels.at(-1) ?? 'x86-64-v2';
const limits = (level: CpuLevel, cores = 2): CpuLimits => ({
  ...({ kind: 'cpu', level, cores } as const),
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
});

/** The same plan cut so small that every loop over blocks runs several times. */
const cutSmall = (plan: CpuCdistGradPlan): CpuCdistGradPlan => ({
  ...plan,
  blockO: plan.tileO,
  blockN: 2,
  blockK: 16,
});

const SHAPES: readonly GradShape[] = [
  { m: 1, n: 1, o: 1, k: 1 },
  { m: 70, n: 5, o: 17, k: 33, gap: 3, offset: 1 },
  { m: 9, n: 3, o: 2, k: 20, batch: 3, shared: ['a', 'd'] },
  { m: 33, n: 2, o: 3, k: 7, batch: 2, shared: ['b', 'c'], gap: 1 },
  { m: 4, n: 3, o: 2, k: 0 },
];

describe('cdist-grad on the CPU', () => {
  it.each(
    levels.flatMap((level) =>
      (level === highest ? [0.5, 1, 1.3, 1.5, 2, 3, 7.5] : [1.3, 2]).map((p, i) => {
        const dtype = (i + levels.indexOf(level)) % 2 === 0 ? 'float32' : 'float64';
        return [level, p, dtype] as const;
      }),
    ),
  )('%s, p = %d, %s: every shape', (level, p, dtype) => {
    for (const shape of SHAPES) {
      const plan = planCpuCdistGrad(gradProblem(dtype, p, shape), limits(level));
      checkCdistGrad(cutSmall(plan), shape, p, { level });
    }
  });

  it('takes p from memory, one for each batch entry', () => {
    const shape: GradShape = { m: 20, n: 3, o: 4, k: 19, batch: 3 };
    for (const dtype of ['float32', 'float64'] as const) {
      const plan = planCpuCdistGrad(
        gradProblem(dtype, 2, shape, { memory: true }),
        limits(highest),
      );
      checkCdistGrad(plan, shape, 2, { memory: [0.6, 1, 3.7] });
      checkCdistGrad(plan, shape, 2, { memory: [1.3] });
      checkCdistGrad(plan, shape, 2, { memory: [0.6, 2, 3], values: () => 0.25 });
    }
  });

  it('holds the bound over long sums on normal and one-signed data', () => {
    const shape: GradShape = { m: 17, n: 2, o: 9, k: 1024 };
    for (const dtype of ['float32', 'float64'] as const)
      for (const p of [1, 1.3, 2, 3]) {
        const plan = planCpuCdistGrad(gradProblem(dtype, p, shape), limits(highest));
        const worst = checkCdistGrad(plan, shape, p);
        // In float64 without fused products the reference rounds as the kernel does.
        if (dtype === 'float32' || fusesProducts(highest)) expect(worst).toBeGreaterThan(0.0005);
        checkCdistGrad(plan, shape, p, { values: () => Math.abs(normal()) });
      }
  });

  it('agrees with float64 on random shapes', () => {
    const counts: Record<string, number> = {};
    fc.assert(
      fc.property(
        fc.record({
          m: fc.integer({ min: 1, max: 80 }),
          n: fc.integer({ min: 1, max: 9 }),
          o: fc.integer({ min: 1, max: 20 }),
          k: fc.nat(40),
          batch: fc.integer({ min: 1, max: 3 }),
          gap: fc.nat(3),
          shared: fc.subarray(['a', 'b', 'c', 'd'] as const),
          dtype: fc.constantFrom('float32' as const, 'float64' as const),
        }),
        ({ dtype, ...shape }) => {
          // One text for each dtype: plans are right for every size.
          const plan = planCpuCdistGrad(
            gradProblem(dtype, 1.3, SHAPES[1] as GradShape),
            limits(highest),
          );
          for (const name of [dtype, ...shape.shared]) counts[name] = (counts[name] ?? 0) + 1;
          checkCdistGrad(cutSmall(plan), shape, 1.3);
        },
      ),
      { numRuns: 60, seed: 7 },
    );
    console.log(`random shapes: ${JSON.stringify(counts)}`);
    expect(Object.keys(counts)).toHaveLength(6);
  });

  it('has tasks for every core and bounded scratch', () => {
    for (const cores of [1, 16, 96]) {
      const sizes = { m: 1000, n: 1000, o: 16, k: 64, batch: 1 };
      const plan = planCpuCdistGrad(gradProblem('float32', 2, sizes), limits('x86-64-v4', cores));
      const kernel = emitCdistGrad(plan).steps[0]?.kernel;
      if (kernel?.dialect !== 'cpu') throw new Error('a host kernel');
      const { tasks, scratchBytes } = kernel.geometry(sizes);
      expect(tasks).toBeGreaterThanOrEqual(4 * cores);
      expect(scratchBytes).toBeLessThan(1 << 20);
      expect(kernel.geometry({ ...sizes, n: 0 }).tasks).toBe(0);
    }
  });

  it('says what it does', () => {
    const shape: GradShape = { m: 1000, n: 1000, o: 16, k: 64 };
    const plan = planCpuCdistGrad(gradProblem('float32', 2, shape), limits('x86-64-v4'));
    expect(plan.summary).toMatchInlineSnapshot(
      `"cdist-grad delta, float32, cpu x86-64-v4 tile 8x32 block 16x16x64"`,
    );
    expect(plainCopy(plan)).toEqual(plan);
    expect(Object.isFrozen(plan)).toBe(true);
  });
});
