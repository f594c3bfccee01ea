import fc from 'fast-check';
import { variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { H200 } from '../../testing/h200.test-support.js';
import { gradProblem } from '../cdist-grad-check.test-support.js';
import { emitCdistGrad } from '../emit.js';
import { planCdistGrad } from '../plan.js';
import type { CudaCdistGradPlan } from '../plan-types.js';
import { FMA_THREADS, fmaConfigs, mmaConfigs, STAGES } from './configs.js';
import { fmaOperands, fmaTile } from './fma-kernel.js';
import { mmaOperands, mmaTile } from './mma-kernel.js';
import { planCudaCdistGrad } from './plan.js';
import { stageElements } from '../../pair-tile/cuda/staged-operand.js';
import { plainCopy } from '../../testing/plain-copy.test-support.js';

const plan = (
  p: number,
  [m, n, o, k]: readonly [number, number, number, number],
  dtype: 'float32' | 'float64' = 'float32',
): CudaCdistGradPlan =>
  planCudaCdistGrad(gradProblem(dtype, p, { m, n, o, k }, { aligned: true }), H200);

describe('which plan', () => {
  test('sixteen rows take tensor cores, one row does not', () => {
    expect(plan(2, [1024, 1024, 16, 4096]).summary).toMatchInlineSnapshot(
      `"cdist-grad delta, float32, tensor core tile 16x16x32"`,
    );
    expect(plan(1.3, [1024, 1024, 16, 4096]).summary).toMatchInlineSnapshot(
      `"cdist-grad any p, float32, tensor core tile 16x16x32, fast power"`,
    );
    expect(plan(2, [1000, 1000, 1, 64]).strategy).toBe('fma');
    expect(plan(2, [1024, 1024, 16, 4096], 'float64').strategy).toBe('fma');
  });

  test('few outputs with a long sum are split, many are not', () => {
    expect(plan(2, [32, 32, 16, 100_000]).splitK).toBeGreaterThan(1);
    expect(plan(2, [1000, 1000, 10, 10_000]).splitK).toBe(1);
    expect(plan(2, [32, 32, 16, 64]).splitK).toBe(1);
  });

  test('lg2 and ex2 serve run-time exponents up to 2 that the host knows', () => {
    const size = { m: 100, n: 100, o: 8, k: 100 };
    const power = (p: number, memory = false): string | undefined =>
      planCudaCdistGrad(gradProblem('float32', p, size, { memory }), H200).power;
    expect(power(1.3)).toBe('fast');
    expect(power(0.3)).toBe('fast-inverse');
    expect(power(3.3)).toBe('accurate');
    expect(power(1.3, true)).toBe('accurate');
    expect(power(2)).toBeUndefined();
  });

  test('a measurement may fix the strategy', () => {
    const problem = gradProblem('float32', 2, { m: 1000, n: 1000, o: 16, k: 64 });
    for (const strategy of ['fma', 'mma'] as const) {
      expect(planCudaCdistGrad(problem, H200, { strategy }).strategy).toBe(strategy);
    }
    expect(() =>
      planCudaCdistGrad({ ...problem, dtype: 'float64' }, H200, { strategy: 'mma' }),
    ).toThrow('float64 has no tensor-core kernel');
  });

  test('refuses expressions that it cannot launch', () => {
    const problem = gradProblem('float32', 2, { m: 1, n: 1, o: 1, k: 1 });
    expect(() => planCdistGrad({ ...problem, phi: variable('q') }, H200)).toThrow('depends on q');
    expect(() => planCdistGrad(problem, { ...H200, sharedMemPerBlockOptin: 1000 })).toThrow(
      '1000 bytes of shared memory',
    );
  });
});

describe('configurations', () => {
  test('hand every element of a stage to one thread, and fit an old GPU', () => {
    for (const weight of ['light', 'heavy'] as const) {
      for (const dtype of ['float32', 'float64'] as const) {
        for (const fma of fmaConfigs(dtype, weight)) {
          const threads = FMA_THREADS.n * FMA_THREADS.m;
          expect(threads % 32).toBe(0);
          expect(threads).toBeGreaterThanOrEqual(fmaTile(fma).m);
          const elements = stageElements(fmaOperands({ dtype, fma, alignedA: true }));
          expect(elements * STAGES * (dtype === 'float32' ? 4 : 8)).toBeLessThan(48 * 1024);
        }
      }
      for (const mma of mmaConfigs(weight)) {
        const aligned = { alignedA: true, alignedB: true, alignedC: true };
        expect(stageElements(mmaOperands({ mma, ...aligned })) * STAGES * 4).toBeLessThan(
          48 * 1024,
        );
        expect(32 * mma.warpsN * mma.warpsM).toBeGreaterThanOrEqual(mmaTile(mma).m);
      }
    }
  });
});

describe('plans as values', () => {
  test('frozen, plain, equal for equal arguments, and the text comes from the plan alone', () => {
    const size = fc.integer({ min: 0, max: 40_000 });
    const shapes = fc.record({ m: size, n: size, o: fc.nat(300), k: size, batch: fc.nat(100) });
    const norms = fc.constantFrom(0.5, 1, 1.3, 2, 2.25, 7.5);
    const dtypes = fc.constantFrom('float32' as const, 'float64' as const);
    const counts: Record<string, number> = {};
    fc.assert(
      fc.property(shapes, norms, dtypes, fc.boolean(), (shape, p, dtype, aligned) => {
        const problem = gradProblem(dtype, p, shape, { aligned });
        const chosen = planCudaCdistGrad(problem, H200);
        counts[chosen.strategy] = (counts[chosen.strategy] ?? 0) + 1;
        expect(Object.isFrozen(chosen)).toBe(true);
        expect(planCudaCdistGrad(problem, H200)).toEqual(chosen);
        const copy = plainCopy(chosen);
        expect(copy).toEqual(chosen);
        const [first, second] = [emitCdistGrad(chosen), emitCdistGrad(copy)];
        expect(second.steps.map((s) => s.kernel.source)).toEqual(
          first.steps.map((s) => s.kernel.source),
        );
        expect(first.workspaceBytes(shape) > 0).toBe(
          chosen.splitK > 1 && shape.m * shape.n * shape.o * shape.batch > 0,
        );
      }),
      { numRuns: 100, seed: 11 },
    );
    expect(counts['fma']).toBeGreaterThan(0);
    expect(counts['mma']).toBeGreaterThan(0);
  });

  test('a launch covers every output once, and costs what the formula says', () => {
    const chosen = plan(2, [1024, 1024, 16, 4096]);
    const kernel = emitCdistGrad(chosen).steps[0]?.kernel;
    if (kernel?.dialect !== 'cuda') throw new Error('a CUDA kernel');
    const sizes = { m: 1024, n: 1024, o: 16, k: 4096, batch: 1 };
    expect(kernel.geometry(sizes)).toMatchInlineSnapshot(`
      {
        "block": [
          128,
          1,
          1,
        ],
        "grid": [
          2048,
          1,
          1,
        ],
        "sharedMemBytes": 31328,
      }
    `);
    expect(kernel.geometry({ ...sizes, n: 0 }).grid[0]).toBe(0);
    const cost = kernel.cost?.(sizes);
    const differences = 1024 * 1024 * 4096;
    // delta, the product with a, and what splitting and the tensor cores take
    expect(cost?.issueSlots).toBe(differences * (2 + 4));
    expect(cost?.bytes).toBe(4 * (4096 * (1024 + 1024 + 16) + 1024 * 1024 * 17));
  });
});
