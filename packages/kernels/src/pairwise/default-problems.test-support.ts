import { normExpressions } from './norm-expressions.js';
import type { PairwiseDType } from '../dtype.js';
import type { Layout, PairwiseProblem } from './problem.js';

type Size = readonly [m: number, n: number, k: number, batch: number];

/** One size per kind of plan: large, medium, thin, few outputs, matrix-vector, short sums. */
const SIZES: readonly Size[] = [
  [30000, 30000, 1024, 1],
  [1000, 1000, 1024, 1],
  [1000, 1000, 64, 1],
  [32, 30000, 64, 1],
  [30000, 32, 64, 1],
  [32, 1000, 4096, 1],
  [32, 32, 4096, 1],
  [1, 30000, 1024, 1],
  [1000, 1, 64, 1],
  [30000, 30000, 3, 1],
  [30000, 30000, 1, 1],
  [1000, 32, 1, 100],
];
const LARGE = SIZES.slice(0, 1);
/** A run-time exponent, with the values that choose its two paths. */
const RUNTIME = [1.3, 3.3];
const NORMS = [1, 2, 1.5, 3, Infinity, ...RUNTIME];
const LAYOUTS: readonly Layout[] = ['row', 'column'];

/**
 * The problems whose plans stand for all: every size with p = 2 and with a run-time exponent, every
 * norm on a large and a short sum, every layout and alignment on a large sum.
 */
export function defaultPairwiseProblems(): PairwiseProblem[] {
  const problems: PairwiseProblem[] = [];
  for (const dtype of ['float32', 'float64'] as const) {
    for (const size of SIZES) for (const p of [2, 1.3]) problems.push(problem(dtype, p, size));
    for (const p of NORMS) {
      for (const size of [...LARGE, ...SIZES.slice(9, 10)]) problems.push(problem(dtype, p, size));
    }
    for (const a of LAYOUTS) {
      for (const b of LAYOUTS) {
        for (const out of LAYOUTS) {
          for (const aligned of [true, false]) {
            for (const size of LARGE) problems.push(problem(dtype, 2, size, [a, b, out], aligned));
          }
        }
      }
    }
  }
  return problems;
}

function problem(
  dtype: PairwiseDType,
  p: number,
  [m, n, k, batch]: Size,
  [layoutA, layoutB, layoutOut]: readonly [Layout, Layout, Layout] = ['row', 'row', 'row'],
  aligned = true,
): PairwiseProblem {
  return {
    ...normExpressions(RUNTIME.includes(p) ? 'runtime' : p),
    ...(RUNTIME.includes(p) ? { p } : {}),
    dtype,
    m,
    n,
    k,
    batch,
    layoutA,
    layoutB,
    layoutOut,
    alignedA: aligned,
    alignedB: aligned,
    alignedOut: aligned,
  };
}
