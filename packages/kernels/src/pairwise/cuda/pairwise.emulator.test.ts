import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../../emitted-kernel.js';
import { checkDistances } from '../../testing/cuda-emulator/check-distances.test-support.js';
import { runCudaKernel } from '../../testing/cuda-emulator.test-support.js';
import { H200, pairwiseProblem } from '../../testing/h200.test-support.js';
import type { Shape } from '../../testing/pairwise-check.test-support.js';
import { emitPairwise } from '../emit.js';
import { normExpressions } from '../norm-expressions.js';
import type { CudaPairwisePlan } from '../plan-types.js';
import { planPairwise } from '../plan.js';
import type { PairwiseDType } from '../../dtype.js';
import type { Layout, PairwiseProblem } from '../problem.js';

type Size = readonly [m: number, n: number, k: number];
type Layouts = readonly [a: Layout, b: Layout, out: Layout];

const LARGE: Size = [30000, 30000, 1024];
const MIDDLE: Size = [1000, 1000, 1024];
const FLAT: Size = [32, 30000, 64];
const LONG: Size = [32, 1000, 4096];
const FEW: Size = [32, 32, 4096];
const VECTOR: Size = [1, 30000, 1024];
const TINY: Size = [1000, 1, 64];
const OUTER: Size = [30000, 30000, 3];
const ROWS: Layouts = ['row', 'row', 'row'];
const COLUMNS: Layouts = ['column', 'column', 'column'];
const MIXED: Layouts = ['column', 'row', 'row'];
const TURNED: Layouts = ['row', 'row', 'column'];
const RUNTIME = [1.3, 3.3];

function problemOf(
  dtype: PairwiseDType,
  p: number,
  [m, n, k]: Size,
  [layoutA, layoutB, layoutOut]: Layouts,
  aligned: boolean,
): PairwiseProblem {
  return pairwiseProblem({
    ...normExpressions(RUNTIME.includes(p) ? 'runtime' : p),
    dtype,
    m,
    n,
    k,
    layoutA,
    layoutB,
    layoutOut,
    ...(RUNTIME.includes(p) ? { p } : {}),
    alignedA: aligned,
    alignedB: aligned,
    alignedOut: aligned,
  });
}

/** The plan's text must be what the case is about. */
function planOf(problem: PairwiseProblem, part: string): CudaPairwisePlan {
  const plan = planPairwise(problem, H200) as CudaPairwisePlan;
  expect(plan.summary).toContain(part);
  return plan;
}

type Case = readonly [
  plan: string,
  dtype: PairwiseDType,
  p: number,
  size: Size,
  layouts: Layouts,
  aligned: boolean,
  shapes: readonly (readonly [...Size, batch: number, shared?: Shape['shared']])[],
];

const CASES: readonly Case[] = [
  [
    'tile 128x128x32 ',
    'float32',
    1,
    LARGE,
    ROWS,
    true,
    [
      [130, 140, 70, 1],
      [3, 5, 1, 2],
    ],
  ],
  ['tile 128x128x32 ', 'float32', 2, LARGE, COLUMNS, true, [[20, 133, 33, 2]]],
  ['tile 128x128x32 ', 'float32', 2, LARGE, MIXED, false, [[17, 30, 65, 2, 'a']]],
  ['tile 128x128x16 ', 'float32', Infinity, LARGE, TURNED, true, [[140, 9, 40, 1]]],
  [
    '4 slices of k), row',
    'float32',
    2,
    MIDDLE,
    ROWS,
    true,
    [
      [66, 70, 100, 1],
      [5, 9, 0, 1],
    ],
  ],
  ['tile 32x128x32 ', 'float32', 1, FLAT, MIXED, false, [[33, 70, 64, 2, 'both']]],
  [
    '8 slices of k) split 8',
    'float32',
    2,
    LONG,
    ROWS,
    true,
    [
      [33, 66, 700, 2, 'b'],
      [2, 3, 65, 1],
    ],
  ],
  ['8 slices of k) split 8', 'float32', Infinity, LONG, ROWS, false, [[10, 12, 513, 1]]],
  ['tile 64x64x16 ', 'float32', 1.3, LARGE, ROWS, true, [[65, 66, 50, 1]]],
  [
    'split 4, row x row, transposed output, fast',
    'float32',
    1.3,
    LONG,
    TURNED,
    true,
    [[9, 40, 300, 1]],
  ],
  ['tile 64x64x16 ', 'float32', 3.3, MIDDLE, ROWS, false, [[20, 66, 45, 1]]],
  [
    'dot 4x4 over 256',
    'float32',
    2,
    FEW,
    ROWS,
    true,
    [
      [5, 7, 1100, 2],
      [1, 1, 3, 1],
    ],
  ],
  ['dot 4x4 over 256', 'float32', 1.3, FEW, TURNED, false, [[6, 5, 300, 1, 'a']]],
  ['dot 1x4 over 32', 'float32', 1, VECTOR, ROWS, true, [[1, 71, 259, 2]]],
  ['dot 1x1 over 16', 'float32', Infinity, TINY, ROWS, false, [[37, 1, 64, 3]]],
  [
    'outer k=3 ',
    'float32',
    1.3,
    OUTER,
    ROWS,
    true,
    [
      [70, 301, 3, 2],
      [3, 2, 3, 1],
    ],
  ],
  ['outer k=3 ', 'float32', 2, OUTER, COLUMNS, false, [[50, 70, 3, 2, 'b']]],
  ['tile 64x64x16 ', 'float64', 1, LARGE, ROWS, true, [[65, 70, 37, 2]]],
  ['tile 64x64x16 ', 'float64', 2, LARGE, COLUMNS, false, [[30, 66, 20, 1]]],
  ['4 slices of k) split 8', 'float64', Infinity, LONG, MIXED, true, [[34, 35, 300, 1]]],
  ['split 16', 'float64', 3.3, LONG, ROWS, true, [[33, 20, 260, 1]]],
  ['dot 2x2 over 256', 'float64', 1.3, FEW, ROWS, false, [[5, 3, 300, 2]]],
  ['dot 1x4 over 32', 'float64', 2, VECTOR, ROWS, true, [[1, 30, 130, 1]]],
  ['outer k=3 ', 'float64', 3.3, OUTER, TURNED, true, [[40, 33, 3, 2]]],
];

describe('the text of every strategy, run', () => {
  test.each(CASES)('%s, %s, p = %d', (part, dtype, p, size, layouts, aligned, shapes) => {
    const problem = problemOf(dtype, p, size, layouts, aligned);
    const plan = planOf(problem, part);
    for (const [m, n, k, batch, shared = 'none'] of shapes) {
      checkDistances(plan, problem, p, { m, n, k, batch, shared });
    }
  });

  test('gives the same in any order of blocks and threads', () => {
    const problem = problemOf('float32', 2, LONG, ROWS, true);
    const plan = planOf(problem, 'split 8');
    const shape = { m: 33, n: 66, k: 700, batch: 2 };
    checkDistances(plan, problem, 2, shape, { blocks: 'shuffled' });
    checkDistances(plan, problem, 2, shape, { blocks: 'shuffled', check: false });
  });
});

describe('a mistake in the text is found', () => {
  const [m, n, k] = [20, 35, 300];
  const scalars = {
    m,
    n,
    k,
    batch: 1,
    lda: k,
    ldb: k,
    ldo: 36,
    p: 2,
    batchStrideA: 0,
    batchStrideB: 0,
    batchStrideOut: 0,
  };
  const mistakes: readonly (readonly [string, Size, part: RegExp, instead: string, RegExp])[] = [
    ['the barrier of a stage', MIDDLE, /__syncthreads\(\);/, ';', /which thread \d+ of the same/],
    [
      'the barrier before storing',
      MIDDLE,
      /(?<=\+\+phase\) \{\s*)__syncthreads\(\);/,
      ';',
      /same block/,
    ],
    [
      'the barrier between slices',
      MIDDLE,
      /(?<=\+\+turn\) \{\s*)__syncthreads\(\);/,
      ';',
      /same block/,
    ],
    [
      'the wait for a stage',
      MIDDLE,
      /asm volatile\("cp.async.wait_group [1-9].*;/,
      ';',
      /cp.async/,
    ],
    ['one stage too few waited for', MIDDLE, /wait_group 2/, 'wait_group 3', /cp.async/],
    ['the barrier of the block sum', FEW, /__syncthreads\(\);/, ';', /shared array parts/],
    ['the end of the rows', MIDDLE, /row < rowsHere/, 'true', /of out, which has/],
    ['the end of k', FEW, /at \+ 4 <= k/, 'true', /of [ab], which has/],
    ['the barrier of the rows', OUTER, /__syncthreads\(\);/, ';', /shared array (row|column)Tile/],
  ];
  test.each(mistakes)('%s', (_, size, part, instead, message) => {
    const plan = planPairwise(problemOf('float32', 2, size, ROWS, true), H200);
    const kernel = emitPairwise(plan).steps[0]?.kernel as CudaKernel;
    const source = kernel.source.replace(part, instead);
    expect(source).not.toBe(kernel.source);
    const steps = plan.kind === 'cuda' && plan.strategy === 'outer' ? 3 : k - 2;
    const sizes = { ...scalars, k: steps };
    const filled = (rows: number): Float32Array => new Float32Array((rows - 1) * k + steps).fill(1);
    const pointers = [filled(m), filled(n), new Float32Array(m * 36)];
    const launch = (changed: CudaKernel): void =>
      runCudaKernel(changed, { scalars: sizes, pointers });
    expect(() => launch(kernel)).not.toThrow();
    expect(() => launch({ ...kernel, source })).toThrow(message);
  });
});
