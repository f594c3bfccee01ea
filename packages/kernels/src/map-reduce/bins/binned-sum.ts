import {
  elementwise,
  ops,
  reduction,
  simplifyVector,
  type NodeOfKind,
  type Reduction,
  type VectorExpr,
} from '@mercer/formula/plan';
import type { DeviceLimits } from '../../device-limits.js';
import type { MapReduceProblem } from '../problem.js';

/** Components up to which they are added up in registers, where each is compared with the place: measured on a CPU (docs/lab/reductions-on-a-cpu.md). */
const FEW = 40;
/**
 * On a GPU, predicted and not measured: a thread takes some 500 ns to add to memory, and at most {@link ROW_THREADS} threads add for a kept row, while a
 * multiprocessor compares 64 components a ns. Beyond {@link MOST_THREADS} threads memory has enough to do.
 */
const COMPARED_WHILE_ADDING = 500 * 64;
const ROW_THREADS = 64;
const MOST_THREADS = 2 ** 16;
const FEW_ON_GPU = 64;

/** Components from which memory is quicker than comparing each. */
function manyFor(
  { rowsI, rowsJ, batch, reduction }: MapReduceProblem,
  limits: DeviceLimits,
): number {
  if (limits.kind === 'cpu') return FEW + 1;
  const rows = batch * (reduction.axis === 1 ? rowsI : rowsJ);
  const threads = Math.min(Math.max(rows, 1) * ROW_THREADS, MOST_THREADS);
  return Math.max(FEW_ON_GPU + 1, (COMPARED_WHILE_ADDING * limits.multiprocessors) / threads);
}

/** A sum of vectors that have one component each. */
export interface BinnedSum {
  /** The sum of two numbers for every pair: the component as a whole number, which is none outside, and what is added to it. */
  readonly pair: Reduction;
  readonly bins: number;
}

/**
 * A sum of `OneHot(place, n)` or of its product with a number, such as a histogram: what a pair adds to one component, or undefined. Every
 * other component gets 0, whatever the number is.
 */
export function binnedSum(problem: MapReduceProblem, limits: DeviceLimits): BinnedSum | undefined {
  const { reduction: one, further = [] } = problem;
  const { kind, formula, axis } = one;
  if (kind !== 'Sum' || further.length > 0 || formula.dim < manyFor(problem, limits))
    return undefined;
  const hot = oneHotIn(formula);
  if (hot === undefined) return undefined;
  const [weight, others] = [1, 0].map((bit) => simplifyVector(withBit(formula, bit)));
  const isNothing = others?.kind === 'literal' && others.value === 0;
  const [place] = hot.args;
  if (weight === undefined || place === undefined || !isNothing) return undefined;
  const component = ops.floor(ops.add(place, 0.5));
  return {
    pair: reduction('Sum', ops.concat(component, weight), { axis }),
    bins: formula.dim,
  };
}

/** The one node that makes a formula a vector, if it does nothing to components but what it does to each. */
function oneHotIn(formula: VectorExpr): NodeOfKind<'oneHot'> | undefined {
  if (formula.kind === 'oneHot') return formula;
  if (formula.kind !== 'elementwise') return undefined;
  const vectors = new Set(formula.args.filter(({ dim }) => dim > 1));
  const found = new Set([...vectors].map(oneHotIn));
  const [hot] = found;
  return found.size === 1 ? hot : undefined;
}

/** A component of the formula where that of its `OneHot` is `bit`. */
function withBit(formula: VectorExpr, bit: number): VectorExpr {
  if (formula.dim === 1) return formula;
  if (formula.kind !== 'elementwise') return ops.constant(bit);
  const { op, attributes, args } = formula;
  return elementwise(
    op,
    args.map((arg) => withBit(arg, bit)),
    attributes,
  );
}
