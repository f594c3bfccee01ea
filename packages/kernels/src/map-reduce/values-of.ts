import {
  constant,
  traitsOf,
  type RealExpr,
  type Reduction,
  type Steps,
  type VectorExpr,
} from '@mercer/formula';
import type { Gathers } from './gathers.js';
import { lowerFormula } from './lower-formula.js';

/** The formulas of a reduction. */
export const rootsOf = ({ formula, weight }: Reduction): VectorExpr[] =>
  weight === undefined ? [formula] : [formula, weight];

/** What a reduction adds for a pair of rows: the formula's components, then those of the weight. */
export function* valuesOf(
  { kind, formula, weight }: Reduction,
  gathers: Gathers,
): Steps<RealExpr[]> {
  const one = constant(1);
  const values = yield* lowerFormula(formula, gathers);
  // the sums of weights need their count, or a weight
  const weights =
    kind === 'SumSoftMaxWeight' && weight !== undefined
      ? [...(yield* lowerFormula(weight, gathers)), one]
      : weight !== undefined
        ? yield* lowerFormula(weight, gathers)
        : traitsOf(kind).isExponential
          ? [one]
          : [];
  return [...values, ...weights];
}
