import { textsOf } from './emitted-text.test-support.js';
import { abs, add, evaluate, exp, log, max, mul, neg, sqrt, sub, variable } from '@mercer/formula';
import { expect } from 'vitest';
import type { CpuKernel } from '../emitted-kernel.js';
import { lanesOf, type CpuLevel } from '../emit/cpu-vector.js';
import { emitCpuPairwise } from '../pairwise/cpu/emit.js';
import { planCpuPairwise, type CpuPairwisePlan } from '../pairwise/cpu/plan.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import type { PairwiseDType } from '../dtype.js';
import type { Layout, PairwiseProblem } from '../pairwise/problem.js';
import { compileKernel } from './cpu-harness.test-support.js';
import { runCpuKernel } from './cpu-program.test-support.js';

const [a, b, s] = [variable('a'), variable('b'), variable('s')];

/** The expressions of a case, and p where they read it. */
export interface Norm {
  readonly name: string;
  readonly expressions: Pick<PairwiseProblem, 'inner' | 'outer' | 'reduce'>;
  readonly p: number;
}

/** The p-norm, with p in the text or as a run-time scalar. */
export const norm = (p: number, runtime = false): Norm => ({
  name: `p = ${p}${runtime ? ' at run time' : ''}`,
  expressions: normExpressions(runtime ? 'runtime' : p),
  p,
});

/** Norms and other expressions that the tests rotate through. */
export const NORMS: readonly Norm[] = [
  norm(2),
  norm(1),
  norm(Infinity),
  norm(1.3, true),
  norm(0.5),
  norm(3),
  norm(0.7, true),
  { name: 'squared', expressions: normExpressions(2, { skipEpilogue: true }), p: 2 },
  { name: 'gauss', expressions: { ...normExpressions(2), outer: exp(neg(s)) }, p: 2 },
  { name: 'product', expressions: { inner: mul(a, b), outer: s, reduce: 'sum' }, p: 1 },
  {
    name: 'signed maximum',
    expressions: { inner: sub(a, b), outer: sub(s, 0.5), reduce: 'max' },
    p: 1,
  },
  {
    name: 'several operations',
    expressions: {
      inner: log(add(1, max(abs(sub(a, b)), mul(2, mul(a, a))))),
      outer: sqrt(s),
      reduce: 'sum',
    },
    p: 1,
  },
];

/** One layout of both inputs and the output. */
export type Layouts = readonly [a: Layout, b: Layout, out: Layout];
/** All eight combinations. */
export const LAYOUTS: readonly Layouts[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => [
  bits & 1 ? 'column' : 'row',
  bits & 2 ? 'column' : 'row',
  bits & 4 ? 'column' : 'row',
]);

/** Sizes, strides and sharing of one launch. */
export interface Shape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** Elements between rows beyond what they need. */
  readonly gap?: number;
  /** Operands that all batches share. */
  readonly shared?: 'none' | 'a' | 'b' | 'both';
}

type Values = Float32Array | Float64Array;
const arrayOf = (dtype: PairwiseDType, length: number): Values =>
  dtype === 'float32' ? new Float32Array(length) : new Float64Array(length);

let seed = 1;
/** Numbers from the first on again: called in front of every file, since files share processes. */
export const restartRandom = (): void => {
  seed = 1;
};
/** Uniform in [0, 1), the same in every run. */
export const random = (): number => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;

/** A batch of matrices with a gap between rows; `at` gives the position of an element. */
export class Matrices {
  readonly ld: number;
  readonly stride: number;
  readonly values: Values;

  constructor(
    readonly layout: Layout,
    dtype: PairwiseDType,
    rows: number,
    columns: number,
    batch: number,
    gap: number,
    shared: boolean,
    fill: () => number,
  ) {
    const [outer, inner] = layout === 'row' ? [rows, columns] : [columns, rows];
    this.ld = inner + gap;
    const size = outer === 0 || inner === 0 ? 0 : (outer - 1) * this.ld + inner;
    this.stride = shared ? 0 : size + gap;
    this.values = arrayOf(dtype, batch === 0 ? 0 : size + this.stride * (batch - 1)).map(fill);
  }

  at(batch: number, row: number, column: number): number {
    const inside = this.layout === 'row' ? row * this.ld + column : column * this.ld + row;
    return batch * this.stride + inside;
  }
}

/**
 * Runs a plan on random data and asserts that the largest error is within its published bound, and that
 * what lies between the outputs is as it was.
 */
export function check(
  plan: CpuPairwisePlan,
  library: string,
  shape: Shape,
  { p, name }: Norm,
  value = random,
): void {
  const { m, n, k, batch, gap = 0, shared } = shape;
  const { dtype } = plan;
  const A = new Matrices(
    plan.layoutA,
    dtype,
    m,
    k,
    batch,
    gap,
    shared === 'a' || shared === 'both',
    value,
  );
  const B = new Matrices(
    plan.layoutB,
    dtype,
    n,
    k,
    batch,
    2 * gap,
    shared === 'b' || shared === 'both',
    value,
  );
  const untouched = -12345.5;
  const out = new Matrices(plan.layoutOut, dtype, m, n, batch, gap, false, () => untouched);
  const got = launch(plan, library, { m, n, k, batch, p }, A, B, out);
  const written = new Set<number>();
  let worst = { share: 0, what: 'no error' };
  // one object for each term of all outputs: to make one takes longer than to evaluate
  const pairs = Array.from({ length: k }, () => ({ a: NaN, b: NaN, p }));
  for (let l = 0; l < batch; l++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        const position = out.at(l, i, j);
        written.add(position);
        pairs.forEach((pair, t) => {
          pair.a = A.values[A.at(l, i, t)] as number;
          pair.b = B.values[B.at(l, j, t)] as number;
        });
        const { wanted, bound } = oracle(plan, pairs, p);
        const actual = got[position] as number;
        const share = shareOfBound(actual, wanted, bound);
        if (share > worst.share) {
          const what = `${actual}, not ${wanted} within ${bound}`;
          worst = { share, what: `at ${[l, i, j].join(', ')}: ${what}` };
        }
      }
    }
  }
  const message = `${name} ${plan.summary} ${JSON.stringify(shape)}: largest error ${worst.what}`;
  expect(worst.share, message).toBeLessThanOrEqual(1);
  got.forEach((v, position) => {
    if (!written.has(position)) expect(v, `output position ${position}`).toBe(untouched);
  });
}

/** An error as a share of its bound: 0 for the same value, NaN too; infinite where only one is NaN. */
function shareOfBound(actual: number, wanted: number, bound: number): number {
  if (Object.is(actual + 0, wanted + 0)) return 0;
  const share = Math.abs(actual - wanted) / bound;
  return Number.isNaN(share) ? Infinity : share;
}

const kernels = new WeakMap<CpuPairwisePlan, CpuKernel>();

/** The kernel of a plan, whose text is emitted once. */
function kernelOf(plan: CpuPairwisePlan): CpuKernel {
  const kernel = kernels.get(plan) ?? (emitCpuPairwise(plan).steps[0]?.kernel as CpuKernel);
  kernels.set(plan, kernel);
  return kernel;
}

/** Runs a plan's kernel and gives the content of the output. */
export function launch(
  plan: CpuPairwisePlan,
  library: string,
  sizes: { m: number; n: number; k: number; batch: number; p: number },
  A: Matrices,
  B: Matrices,
  out: Matrices,
): Values {
  const kernel = kernelOf(plan);
  const scalars = {
    ...sizes,
    lda: A.ld,
    ldb: B.ld,
    ldo: out.ld,
    batchStrideA: A.stride,
    batchStrideB: B.stride,
    batchStrideOut: out.stride,
  };
  const result = out.values.slice();
  const pointers = { a: A.values, b: B.values, out: result };
  runCpuKernel(kernel, library, { scalars, pointers });
  return result;
}

/** The exact value in float64 and the published bound of its error. */
function oracle(
  plan: CpuPairwisePlan,
  pairs: readonly { a: number; b: number; p: number }[],
  p: number,
): { wanted: number; bound: number } {
  const inner = plan.inner;
  const outer = plan.outer;
  const u = plan.dtype === 'float32' ? 2 ** -24 : 2 ** -53;
  const terms = pairs.map((pair) => evaluate(inner, pair));
  // u per term: the difference is rounded, then raised: (6 + 1.5 p |log2 |d||) u.
  const termError = pairs.reduce((sum, pair, i) => {
    const d = Math.abs(pair.a - pair.b);
    const units = 8 + 1.5 * Math.abs(p === Infinity || d === 0 ? 0 : p * Math.log2(d));
    return sum + units * u * Math.abs(terms[i] as number);
  }, 0);
  const size = terms.reduce((sum, term) => sum + Math.abs(term), 0);
  const total =
    terms.length === 0
      ? 0
      : plan.reduce === 'sum'
        ? terms.reduce((sum, term) => sum + term, 0)
        : terms.reduce((most, term) => Math.max(most, term));
  const wanted = evaluate(outer, { s: total, p });
  const sumError = (2 * Math.sqrt(pairs.length) + 4) * u * size + termError;
  // How the outer function carries the error of the sum on, by its slope.
  const slope =
    total === 0
      ? 1
      : Math.abs(evaluate(outer, { s: total * (1 + 1e-6), p }) - wanted) / (Math.abs(total) * 1e-6);
  const root = 1.5 * Math.abs(Math.log2(Math.max(Math.abs(total), 1e-300)) / p);
  const bound =
    slope * sumError * 1.001 +
    (8 + (total === 0 ? 0 : root)) * u * (Math.abs(wanted) + (plan.reduce === 'max' ? 1 : 0));
  // Exponentials are 0 below the normal range.
  const smallest = plan.dtype === 'float32' ? 2 ** -126 : 2 ** -1022;
  return { wanted, bound: Number.isFinite(bound) ? bound + smallest : 0 };
}

/** A plan for sizes that a test can afford. */
export function planFor(
  { expressions, p }: Norm,
  [layoutA, layoutB, layoutOut]: Layouts,
  dtype: PairwiseDType,
  level: CpuLevel,
  sizes: { m: number; n: number; k: number } = { m: 40, n: 150, k: 64 },
): CpuPairwisePlan {
  return planCpuPairwise(
    {
      ...expressions,
      dtype,
      ...sizes,
      batch: 1,
      p,
      layoutA,
      layoutB,
      layoutOut,
      alignedA: false,
      alignedB: false,
      alignedOut: false,
    },
    { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 },
  );
}

/** The same plan cut so small that every loop over blocks and tiles runs several times. */
export function cutSmall(plan: CpuPairwisePlan): CpuPairwisePlan {
  const tileColumns = plan.tileVectors * lanesOf(plan.level, plan.dtype);
  return {
    ...plan,
    blockRows: 2 * plan.tileRows,
    blockColumns: 2 * tileColumns,
    blockDepth: 16,
    streamBytes: 0,
  };
}

/** The compiled kernel of a plan. */
export const build = (plan: CpuPairwisePlan, compiler: string): string =>
  compileKernel(compiler, textsOf(emitCpuPairwise(plan))[0] ?? '', plan.level);
