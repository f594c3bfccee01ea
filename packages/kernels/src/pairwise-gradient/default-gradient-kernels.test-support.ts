import { add, div, exp, mul, neg, sqrt, sub, variable } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import type { LaunchableKernel } from '../emitted-kernel.js';
import type { KernelProgram } from '../kernel-program.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.js';
import { emitSum } from '../elementwise/emit-sum.js';
import { planSum } from '../elementwise/sum-plan.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { emitPairwiseGradient } from './emit.js';
import { planPairwiseGradient } from './gradient-plan.js';
import type { PairwiseGradientProblem } from './gradient-problem.js';
import { emitRowsGradient, planRowsGradient } from './rows-gradient.js';
import type { ForwardExpressions } from './scaled-norm.js';

const [a, b, s, bandwidth] = [variable('a'), variable('b'), variable('s'), variable('bandwidth')];
const squares = mul(sub(a, b), sub(a, b));
const radius = div(sqrt(s), bandwidth);

/** A Gaussian, a Matern kernel and a product, with a parameter from memory. */
const KERNELS: readonly ForwardExpressions[] = [
  {
    inner: squares,
    reduce: 'sum',
    parameters: ['bandwidth'],
    outer: exp(mul(s, neg(div(0.5, mul(bandwidth, bandwidth))))),
  },
  {
    inner: squares,
    reduce: 'sum',
    parameters: ['bandwidth'],
    outer: mul(add(1, radius), exp(neg(radius))),
  },
  { inner: mul(a, b), outer: s, reduce: 'sum' },
];

const NORMS = [0.5, 1, 3, Infinity, 'runtime'] as const;

/** Large; medium and small tiles for few rows. */
const SIZES = [
  [30000, 30000, 1024],
  [20, 30000, 64],
  [4, 30000, 64],
] as const;

/**
 * Gradient kernels that stand for all: every norm, kernels with parameters, both targets, tall and
 * large, and sums over axes.
 */
export function defaultGradientKernels(limits: DeviceLimits): NamedKernel[] {
  const programs: Pick<KernelProgram<LaunchableKernel>, 'steps'>[] = [];
  const include = (problem: PairwiseGradientProblem): void => {
    programs.push(emitPairwiseGradient(planPairwiseGradient(problem, limits)));
  };
  for (const dtype of ['float32', 'float64'] as const) {
    const [m, n, k] = SIZES[0];
    for (const p of dtype === 'float32' ? NORMS : NORMS.slice(-2)) {
      include({ ...normExpressions(p), dtype, m, n, k, batch: 1, wrt: 'rows' });
    }
    for (const [rows, columns, steps] of SIZES) {
      const sizes = { m: rows, n: columns, k: steps, batch: 1 };
      include({ ...normExpressions(2), ...sizes, dtype, wrt: 'rows' });
    }
    include({ ...normExpressions('runtime'), dtype, m, n, k, batch: 1, wrt: ['p'] });
    for (const kernel of KERNELS) {
      const flags = { symmetric: true, maskDiagonal: true };
      include({ ...kernel, ...flags, dtype, m, n, k, batch: 1, wrt: 'rows' });
      const wrt = kernel.parameters ?? [];
      if (wrt.length > 0) include({ ...kernel, dtype, m, n, k, batch: 1, wrt, maskDiagonal: true });
    }
    for (const target of ['x', 'scale'] as const) {
      const plan = planRowsGradient({ dtype, normalise: target === 'x', target }, limits);
      programs.push(emitRowsGradient(plan));
    }
    for (const mode of ['each', 'block'] as const) {
      const count = mode === 'each' ? 10 : 1000;
      const kernel = emitSum(
        planSum({ from: 'float64', to: dtype, outputs: 1, count }),
        limits.kind,
      );
      programs.push({ steps: [{ kernel }] });
    }
  }
  return distinctKernels(programs);
}
