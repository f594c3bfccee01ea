import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textsOf } from '../../testing/emitted-text.test-support.js';
import { H200, pairwiseProblem } from '../../testing/h200.test-support.js';
import { emitPairwise } from '../emit.js';
import { normExpressions } from '../norm-expressions.js';
import { planPairwise } from '../plan.js';
import type { PairwiseProblem } from '../problem.js';
import { planCudaPairwise } from './plan.js';
import { stageBytes } from '../../pair-tile/cuda/tile-operand.js';
import { plainCopy } from '../../testing/plain-copy.test-support.js';

const summary = (changes: Partial<PairwiseProblem>): string =>
  planPairwise(pairwiseProblem(changes), H200).summary.replace(/^.*float(32|64), /, '');

describe('which plan', () => {
  test('large sums take the largest tile', () => {
    expect(summary({})).toMatchInlineSnapshot(
      `"tile 128x128x32 (256 threads, 2 stages), row x row"`,
    );
  });

  test('one row takes lanes along k', () => {
    expect(summary({ m: 1 })).toMatch(/^dot 1x/);
    expect(summary({ n: 1, k: 64 })).toMatch(/^dot \dx1 over 16 lanes/);
  });

  test('few outputs with a long sum spread it over lanes, slices or blocks', () => {
    expect(summary({ m: 32, n: 32, k: 4096 })).toMatch(/^dot|slices|split/);
    expect(summary({ m: 32, n: 1000, k: 4096 })).toMatch(/slices of k|split/);
  });

  test('short sums keep operands in registers and store 16 bytes', () => {
    expect(summary({ k: 3 })).toMatchInlineSnapshot(
      `"outer k=3 (64x4 threads, 4 a store), row x row"`,
    );
    expect(summary({ k: 3, alignedOut: false })).toContain('1 a store');
    expect(summary({ k: 0 })).toContain('outer k=0');
  });

  test('a run-time exponent above 2 takes the accurate power', () => {
    const runtime = normExpressions('runtime');
    expect(summary({ ...runtime, p: 1.3 })).toContain('fast power');
    expect(summary({ ...runtime, p: 3.3 })).toContain('accurate power');
  });

  test('a column-major output is the transposed problem', () => {
    const plan = planPairwise(
      pairwiseProblem({ layoutOut: 'column', layoutA: 'column', alignedB: false }),
      H200,
    );
    expect(plan).toMatchObject({
      swapped: true,
      rowsLayout: 'row',
      columnsLayout: 'column',
      alignedRows: false,
      alignedColumns: true,
    });
  });
});

describe('plans as values', () => {
  const size = fc.integer({ min: 0, max: 40000 });
  const problems = fc.record({
    m: size,
    n: size,
    k: fc.integer({ min: 0, max: 5000 }),
    batch: fc.integer({ min: 0, max: 300 }),
    dtype: fc.constantFrom('float32' as const, 'float64' as const),
    layoutA: fc.constantFrom('row' as const, 'column' as const),
    layoutB: fc.constantFrom('row' as const, 'column' as const),
    layoutOut: fc.constantFrom('row' as const, 'column' as const),
    alignedA: fc.boolean(),
    alignedOut: fc.boolean(),
    norm: fc.constantFrom(1, 2, 2.5, Infinity, 'runtime' as const),
  });

  test('frozen, plain, equal for equal arguments, and the text comes from the plan alone', () => {
    fc.assert(
      fc.property(problems, ({ norm, ...sizes }) => {
        const problem = pairwiseProblem({ ...sizes, ...normExpressions(norm), p: 1.3 });
        const plan = planPairwise(problem, H200);
        const copy = plainCopy(plan);
        expect(Object.isFrozen(plan)).toBe(true);
        expect(planPairwise(problem, H200)).toEqual(plan);
        expect(copy).toEqual(plan);
        const texts = (from: typeof plan): string[] => textsOf(emitPairwise(from));
        expect(texts(copy)).toEqual(texts(plan));
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  test('stays within the limits of a smaller GPU', () => {
    const small = { ...H200, sharedMemPerBlockOptin: 99 << 10, multiprocessors: 20 };
    fc.assert(
      fc.property(problems, ({ norm, ...sizes }) => {
        // More than a GPU's memory holds would need more blocks than a grid has.
        fc.pre(sizes.m * sizes.n * sizes.batch < 2 ** 37);
        const plan = planCudaPairwise(
          pairwiseProblem({ ...sizes, ...normExpressions(norm) }),
          small,
        );
        if (plan.strategy === 'tile') {
          expect(stageBytes(plan.tile, plan.dtype)).toBeLessThanOrEqual(99 << 10);
        }
        for (const { kernel } of emitPairwise(plan).steps) {
          if (kernel.dialect !== 'cuda') throw new Error('wrong dialect');
          const { m, n, k, batch } = sizes;
          const launch = kernel.geometry({ m, n, k, batch, p: 2 });
          const block = launch.block.reduce((x, y) => x * y);
          expect(block).toBeLessThanOrEqual(small.maxThreadsPerBlock);
          expect(block % 32).toBe(0);
          expect(launch.grid[0]).toBeLessThan(2 ** 31);
        }
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  test('no tile fits: the error says which GPU and how much', () => {
    const tiny = { ...H200, arch: 'sm_30', sharedMemPerBlockOptin: 1024 };
    const columns = { layoutA: 'column', layoutB: 'column' } as const;
    expect(() => planPairwise(pairwiseProblem(columns), tiny)).toThrow('cannot plan for sm_30');
  });
});

describe('launches', () => {
  test('the grid covers the output, also beyond 2^31 elements', () => {
    const plan = planPairwise(pairwiseProblem(), H200);
    const [{ kernel } = { kernel: undefined }] = emitPairwise(plan).steps;
    if (kernel?.dialect !== 'cuda') throw new Error('wrong dialect');
    const scalars = { m: 100_000, n: 100_000, k: 1024, batch: 3, p: 1 };
    expect(kernel.geometry(scalars).grid).toEqual([782 * 782 * 3, 1, 1]);
    expect(kernel.geometry({ ...scalars, m: 0 }).grid[0]).toBe(0);
  });

  test('a split plan has a second kernel and a workspace of one value per part and output', () => {
    const plan = planPairwise(pairwiseProblem({ m: 32, n: 1000, k: 4096 }), H200);
    if (plan.kind !== 'cuda' || plan.strategy !== 'tile') throw new Error('no tile');
    const program = emitPairwise({ ...plan, splitK: 4 });
    expect(program.steps.map(({ kernel }) => kernel.entry)).toEqual([
      'pairwise_tile',
      'pairwise_split_reduce',
    ]);
    expect(program.workspaceBytes({ m: 32, n: 1000, k: 4096, batch: 2 })).toBe(
      4 * 2 * 32 * 1000 * 4,
    );
    expect(program.steps.every(({ kernel }) => kernel.params.at(-1)?.name === 'workspace')).toBe(
      true,
    );
  });

  test('cost: operands once, the output once, a broadcast operand once for all batches', () => {
    const plan = planPairwise(pairwiseProblem({ ...normExpressions(1) }), H200);
    const [{ kernel } = { kernel: undefined }] = emitPairwise(plan).steps;
    const cost = kernel?.cost?.({
      m: 10,
      n: 20,
      k: 30,
      batch: 4,
      batchStrideA: 0,
      batchStrideB: 600,
    });
    expect(cost).toMatchObject({
      bytes: 4 * (10 * 30 + 4 * 20 * 30 + 4 * 10 * 20),
      issueSlots: 2 * 4 * 10 * 20 * 30,
    });
  });
});

describe('refusals', () => {
  test('an inner expression that is not 0 on padding', async () => {
    const { add, variable } = await import('@mercer/formula');
    const inner = add(variable('a'), 1);
    expect(() => planPairwise(pairwiseProblem({ inner }), H200)).toThrow('is 1 at a = b = 0');
  });

  test('a variable that a launch cannot bind', async () => {
    const { mul, variable } = await import('@mercer/formula');
    const inner = mul(variable('a'), variable('c'));
    expect(() => planPairwise(pairwiseProblem({ inner }), H200)).toThrow('c is no variable');
  });
});
