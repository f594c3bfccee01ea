import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { checkDistances } from '../../testing/cuda-emulator/check-distances.test-support.js';
import { H200, pairwiseProblem } from '../../testing/h200.test-support.js';
import { emitPairwise } from '../emit.js';
import { normExpressions } from '../norm-expressions.js';
import type { Layout, PairwiseProblem } from '../problem.js';
import { planCudaPairwise } from './plan.js';

const EXPONENTS = [0.5, 1, 1.3, 2, 2.7, 7.5];

/** A problem with p in memory; the sizes lead to the plan. */
const memoryProblem = (changes: Partial<PairwiseProblem>): PairwiseProblem =>
  pairwiseProblem({ ...normExpressions('runtime'), parameters: ['p'], ...changes });

const layouts = (a: Layout, b: Layout, out: Layout): Partial<PairwiseProblem> => ({
  layoutA: a,
  layoutB: b,
  layoutOut: out,
});
const unaligned = { alignedA: false, alignedB: false, alignedOut: false };

type Case = readonly [
  plan: string,
  changes: Partial<PairwiseProblem>,
  shape: readonly [m: number, n: number, k: number],
];

const CASES: readonly Case[] = [
  ['tile 64x64x16 ', {}, [66, 65, 37]],
  ['tile 64x64x16 ', { ...layouts('column', 'column', 'column'), ...unaligned }, [20, 70, 33]],
  ['tile 32x128x32 ', { m: 32, k: 64, ...layouts('row', 'column', 'row') }, [33, 40, 35]],
  ['tile 128x32x32 ', { n: 32, k: 64, ...layouts('column', 'row', 'row') }, [40, 33, 35]],
  ['4 slices of k) split', { m: 200, n: 200, k: 4096, ...unaligned }, [33, 20, 140]],
  ['16x16x128 ', { m: 32, n: 64, k: 1024, layoutA: 'column' }, [17, 20, 260]],
  ['dot 2x2', { m: 32, n: 32, k: 4096 }, [5, 3, 1100]],
  ['dot 4x1', { m: 1, k: 1024, layoutOut: 'column', ...unaligned }, [1, 30, 150]],
  ['outer k=4', { k: 4 }, [30, 70, 4]],
];

describe('p in memory, one for each batch entry', () => {
  test.each(CASES)('%s, %o', (part, changes, [m, n, k]) => {
    const problem = memoryProblem(changes);
    const plan = planCudaPairwise(problem, H200);
    expect(plan.summary).toContain(part);
    expect(plan.summary).toContain('either power');
    const shape = { m, n, k, batch: EXPONENTS.length };
    checkDistances(plan, problem, EXPONENTS, shape);
  });
});

const K = 20;
/** Rows whose distances to each other are zero, far, infinite or no number. */
const ROWS = [
  Array.from({ length: K }, (_, t) => t / 7 - 1),
  Array.from({ length: K }, (_, t) => t / 7 - 1),
  Array.from({ length: K }, (_, t) => (t === 3 ? Infinity : 0.5)),
  Array.from({ length: K }, (_, t) => (t === 11 ? NaN : 0.25)),
];

/** Sums of powers between `ROWS`, so that nothing but the arithmetic of the pairs shows. */
function special(sizes: Partial<PairwiseProblem>, exponents: readonly number[]): number[][] {
  const expressions = normExpressions('runtime', { skipEpilogue: true });
  const problem = memoryProblem({ ...sizes, ...expressions });
  const steps = Math.min(K, problem.k);
  const data = Float32Array.from(ROWS.flatMap((row) => row.slice(K - steps)));
  const out = new Float32Array(16 * exponents.length);
  runCudaProgram(emitPairwise(planCudaPairwise(problem, H200)), {
    scalars: {
      m: 4,
      n: 4,
      k: steps,
      batch: exponents.length,
      lda: steps,
      ldb: steps,
      ldo: 4,
      p: NaN,
      batchStrideA: 0,
      batchStrideB: 0,
      batchStrideOut: 16,
      pStride: 1,
      pValue: NaN,
    },
    pointers: { a: data, b: data, out, pAt: Float32Array.from(exponents) },
  });
  return exponents.map((_, l) => [...out.subarray(16 * l, 16 * l + 16)]);
}

describe('zero, infinity and NaN', () => {
  const exponents = [...EXPONENTS, 1e-37, 1e-20];
  test.each([{ k: 1024 }, { m: 32, n: 32, k: 4096 }])('%o', (sizes) => {
    for (const [l, values] of special({ ...sizes, ...unaligned }, exponents).entries()) {
      const p = exponents[l] ?? 1;
      for (let i = 0; i < 4; i += 1) {
        for (let j = 0; j < 4; j += 1) {
          const got = values[4 * i + j];
          const pair = `p = ${p}, ${i}, ${j}`;
          if (i < 2 && j < 2) expect(got, pair).toBe(0);
          else if (i === 3 || j === 3 || (i === 2 && j === 2)) expect(got, pair).toBeNaN();
          else expect(got, pair).toBe(Infinity);
        }
      }
    }
  });
});
