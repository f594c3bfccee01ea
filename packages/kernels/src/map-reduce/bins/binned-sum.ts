import {
  elementwise,
  ops,
  reduction,
  simplifyVector,
  type NodeOfKind,
  type Reduction,
  type VectorExpr,
} from '@mercer/formula';
import type { MapReduceProblem } from '../problem.js';

/**
 * Components up to which they are added up in registers, where each is compared with the place: measured on a CPU (docs/lab/reductions-on-a-cpu.md), a
 * guess on a GPU.
 */
const FEW = { cpu: 40, cuda: 64 } as const;

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
export function binnedSum(
  { reduction: { kind, formula, axis }, further = [] }: MapReduceProblem,
  device: 'cpu' | 'cuda',
): BinnedSum | undefined {
  if (kind !== 'Sum' || further.length > 0 || formula.dim <= FEW[device]) return undefined;
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
