import { div, exp, mul, neg, pow, select, lt, sub, abs, variable } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { emitPairwise } from './emit.js';
import { descriptorExpressions } from './kernel-expressions.js';
import { normExpressions } from './norm-expressions.js';
import { planPairwise } from './plan.js';
import type { PairwiseDType } from '../dtype.js';
import type { Layout, PairwiseProblem } from './problem.js';

const [a, b, s, bandwidth] = [variable('a'), variable('b'), variable('s'), variable('bandwidth')];
const gaussian = exp(mul(s, neg(div(0.5, mul(bandwidth, bandwidth)))));

/** What the problems compute: kernels of a distance, powers from memory, a weight inside the sum. */
const EXPRESSIONS = [
  { ...normExpressions(2, { skipEpilogue: true }), outer: gaussian, parameters: ['bandwidth'] },
  {
    ...normExpressions(1),
    outer: exp(mul(select(lt(s, variable('epsilon')), 0, s), neg(div(1, bandwidth)))),
    parameters: ['bandwidth', 'epsilon'],
  },
  descriptorExpressions(
    { innerOperator: 'diff', innerPower: 'pow', outerPower: 'pow', kernel: 'none' },
    { p: 'parameter' },
  ),
  {
    inner: mul(variable('weight'), pow(abs(sub(a, b)), variable('innerP'))),
    outer: pow(s, variable('outerP')),
    reduce: 'sum',
    parameters: ['weight', 'innerP', 'outerP'],
  },
] as const satisfies readonly Partial<PairwiseProblem>[];

/** Large, medium, few outputs with a long sum, short sums. */
const SIZES = [
  [30000, 30000, 1024],
  [1000, 1000, 64],
  [32, 32, 4096],
  [200, 200, 4096],
  [30000, 30000, 3],
] as const;

/** Problems with parameters, symmetry and a diagonal whose plans stand for all such. */
export function parameterisedProblems(): PairwiseProblem[] {
  const problems: PairwiseProblem[] = [];
  for (const [s64, dtype] of (['float32', 'float64'] as const).entries()) {
    for (const [i, size] of SIZES.entries()) {
      EXPRESSIONS.forEach((expressions, e) => {
        // float64 shares the text but for its numbers: each size meets half of the expressions
        if (s64 === 1 && (i + e) % 2 === 1) return;
        const problem = { ...sized(dtype, size), ...expressions };
        problems.push((i + e) % 2 === 0 ? problem : { ...problem, symmetric: true });
        if (e === 0 && size[2] > 1000) problems.push(...layouts(problem));
      });
    }
    // symmetry without a parameter, by every way of raising to a power
    for (const p of [1, 2, Infinity, 1.3, 3.3]) {
      const runtime = p === 1.3 || p === 3.3;
      const norm = runtime ? { ...normExpressions('runtime'), p } : normExpressions(p);
      for (const size of [SIZES[p === 2 ? 3 : 0], SIZES[4]]) {
        problems.push({ ...sized(dtype, size), ...norm, symmetric: true });
      }
    }
  }
  return problems;
}

function sized(
  dtype: PairwiseDType,
  [m, n, k]: readonly [number, number, number],
): Omit<PairwiseProblem, 'inner' | 'outer' | 'reduce'> {
  return {
    dtype,
    m,
    n,
    k,
    batch: 1,
    layoutA: 'row',
    layoutB: 'row',
    layoutOut: 'row',
    alignedA: true,
    alignedB: true,
    alignedOut: true,
  };
}

function layouts(problem: PairwiseProblem): PairwiseProblem[] {
  const turned: Layout = 'column';
  const diagonal = { ...problem, diagonal: 'set' } as const;
  const columns = { ...problem, layoutA: turned, layoutB: turned, layoutOut: turned };
  const loose = { alignedA: false, alignedB: false, alignedOut: false };
  return [
    diagonal,
    { ...columns, diagonal: 'add' },
    { ...columns, symmetric: true, diagonal: 'set' },
    { ...problem, ...loose, symmetric: true },
  ];
}

/** Every kernel that the plans of `parameterisedProblems` give on a device, each text once. */
export function defaultParameterisedKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels(
    parameterisedProblems().map((problem) => emitPairwise(planPairwise(problem, limits))),
  );
}
