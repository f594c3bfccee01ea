import { substitute, variable, variables, type RealExpr } from '@mercer/formula';
import { countOps } from '../pairwise/cpu/plan.js';
import type { CpuLimits, CudaLimits, DeviceLimits } from '../device-limits.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import { toJson, type ExpressionJson } from '../pairwise/expression-json.js';
import type { PairwiseDType, Reduce } from '../pairwise/problem.js';
import { PlanError } from '../plan-error.js';
import { chooseCpuSizes, type CpuGradientSizes } from './cpu/sizes.js';
import { chooseCudaSizes, type CudaGradientSizes } from './cuda/sizes.js';
import { parameterGradients, rowsGradient } from './gradient-expressions.js';
import type { GradientWorkload, PairwiseGradientProblem } from './gradient-problem.js';

/** What the plans of both dialects share; expressions as data, parameters renamed theta0, theta1, ... */
interface GradientPlanBase {
  readonly family: 'pairwise-gradient';
  /** One readable line. */
  readonly summary: string;
  readonly dtype: PairwiseDType;
  readonly target: 'rows' | 'parameters';
  readonly inner: ExpressionJson;
  readonly reduce: Reduce;
  readonly readsSum: boolean;
  readonly nonNegative: readonly string[];
  readonly pairs: readonly ExpressionJson[];
  readonly sums: readonly {
    readonly value?: ExpressionJson | undefined;
    readonly term?: ExpressionJson | undefined;
  }[];
  readonly parameters: readonly string[];
  readonly symmetric: boolean;
  readonly maskDiagonal: boolean;
  /**
   * Parts of n, each by its own block or task, for lack of rows; each writes its own result. Not in the
   * text: a launch passes it as the scalar `parts`.
   */
  readonly parts: number;
}

/** The plan of a gradient on a CPU. */
export interface CpuGradientPlan extends GradientPlanBase, CpuGradientSizes {
  readonly kind: 'cpu';
  readonly level: CpuLevel;
}

/** The plan of a gradient on a GPU. */
export interface CudaGradientPlan extends GradientPlanBase, CudaGradientSizes {
  readonly kind: 'cuda';
}

/** A plan: plain frozen data, the same for the same problem and limits. */
export type PairwiseGradientPlan = CpuGradientPlan | CudaGradientPlan;

/**
 * The plan of a gradient problem on a device.
 *
 * @throws PlanError for a variable that is neither a, b, s, p nor a parameter
 */
export function planPairwiseGradient(
  problem: PairwiseGradientProblem,
  limits: DeviceLimits,
): PairwiseGradientPlan {
  const { dtype, wrt, parameters = [] } = problem;
  checkVariables(problem);
  const expressions =
    wrt === 'rows' ? rowsGradient(problem, dtype) : parameterGradients(problem, wrt, dtype);
  const renamed = Object.fromEntries(parameters.map((name, i) => [name, variable(theta(i))]));
  const json = (expr: RealExpr): ExpressionJson => toJson(substitute(expr, renamed));
  const base = {
    family: 'pairwise-gradient' as const,
    dtype,
    target: wrt === 'rows' ? ('rows' as const) : ('parameters' as const),
    inner: json(expressions.inner),
    reduce: expressions.reduce,
    readsSum: expressions.readsSum,
    nonNegative: expressions.nonNegative,
    pairs: expressions.pairs.map(json),
    sums: expressions.sums.map(({ value, term }) => ({
      value: value === undefined ? undefined : json(value),
      term: term === undefined ? undefined : json(term),
    })),
    parameters,
    symmetric: problem.symmetric === true,
    maskDiagonal: problem.maskDiagonal === true,
  };
  const heaviest = [expressions.inner, ...expressions.sums.flatMap(({ term }) => term ?? [])];
  const ops = Math.max(...heaviest.map(countOps));
  const workload = { problem, ops, values: base.pairs.length };
  return limits.kind === 'cpu' ? cpuPlan(base, workload, limits) : cudaPlan(base, workload, limits);
}

/** The name of a parameter in expressions and kernel text: a user's name never reaches a compiler. */
export function theta(index: number): string {
  return `theta${index}`;
}

type PlanBase = Omit<GradientPlanBase, 'summary' | 'parts'>;

function cpuPlan(base: PlanBase, workload: GradientWorkload, limits: CpuLimits): CpuGradientPlan {
  const sizes = chooseCpuSizes(workload, limits);
  const tile = `${sizes.blockRows}x${sizes.blockColumns}x${sizes.blockDepth}`;
  const summary = `cpu ${limits.level} ${label(base)} block ${tile}, parts ${sizes.parts}`;
  return Object.freeze({ kind: 'cpu', summary, ...base, level: limits.level, ...sizes });
}

function cudaPlan(
  base: PlanBase,
  workload: GradientWorkload,
  limits: CudaLimits,
): CudaGradientPlan {
  const sizes = chooseCudaSizes(workload, limits);
  const tile = `${16 * sizes.rowsPerThread}x64x${sizes.tileK}`;
  const summary = `cuda ${label(base)} tile ${tile}, parts ${sizes.parts}`;
  return Object.freeze({ kind: 'cuda', summary, ...base, ...sizes });
}

function label(base: PlanBase): string {
  return `gradient of ${base.target} ${base.dtype}`;
}

function checkVariables({ inner, outer, parameters = [], wrt }: PairwiseGradientProblem): void {
  const known = new Set(['p', ...parameters]);
  const strangers = [
    ...variables(inner).filter((name) => name !== 'a' && name !== 'b' && !known.has(name)),
    ...variables(outer).filter((name) => name !== 's' && !known.has(name)),
    ...(wrt === 'rows' ? [] : wrt.filter((name) => !known.has(name))),
  ];
  if (strangers.length === 0) return;
  throw new PlanError(
    'INVALID_ARGUMENT',
    `cannot plan a gradient: ${strangers.join(', ')} is no variable of the problem. ` +
      `Use a, b, p and parameters in the inner expression, s, p and parameters in the outer one.`,
  );
}
