import {
  constant,
  simplifyAllSteps,
  traitsOf,
  type RealExpr,
  type Reduction,
  type Steps,
} from '@mercer/formula';
import { WIDE_LIMITS } from '../limits.js';
import { fixedIndex } from '../lowering/index-expr.js';
import { columnIndex, lowering, type LoweringOptions } from '../lowering/lower.js';
import { splitPairValues } from './pair-values.js';
import type { WideFormula } from './wide-formula.js';

/** Long sums are loops. */
const LOOPS: LoweringOptions = {
  longest: 8,
  values: WIDE_LIMITS.values,
  rowName: 'G',
  loadName: (_, __, ___, n) => `L${n}`,
};

/** A reduction's formula and weight as loops and scalar expressions. */
export function* planWideFormula({ kind, formula, weight }: Reduction): Steps<WideFormula> {
  const lowered = lowering(LOOPS);
  const columns = Math.max(formula.dim, weight?.dim ?? 1);
  const at = function* (one: typeof formula): Steps<RealExpr> {
    const value = yield* lowered.at(one, one.dim > 1 ? columnIndex(columns) : fixedIndex(0));
    const [simplified = value] = yield* simplifyAllSteps([value]);
    return simplified;
  };
  const one = constant(1);
  const { isExponential } = traitsOf(kind);
  const before = isExponential ? [yield* at(formula)] : [];
  const main = isExponential
    ? weight === undefined
      ? one
      : yield* at(weight)
    : yield* at(formula);
  // a sum of weights needs the sum of ones beside it
  const after = kind === 'SumSoftMaxWeight' ? [one] : [];
  const { numbers, gathers } = lowered;
  const { pair, column, loops, loads } =
    columns > 1
      ? yield* splitPairValues(main, before, lowered)
      : { pair: before, column: main, loops: lowered.loops, loads: lowered.loads };
  const exprs = [...pair, column, ...after];
  return Object.freeze({
    loads: Object.freeze(loads),
    numbers: Object.freeze(numbers),
    columns,
    loops: Object.freeze(
      loops.map(({ name, counter, size, combine, parent }, k) =>
        Object.freeze({ name, counter, size, combine, parent, root: exprs.length + k }),
      ),
    ),
    ...(gathers.length > 0 && {
      gathers: Object.freeze(
        gathers.map(({ name, position }, k) =>
          Object.freeze({ name, position, root: exprs.length + loops.length + k }),
        ),
      ),
    }),
    values: Object.freeze([
      ...exprs,
      ...loops.map(({ body }) => body),
      ...gathers.map(({ index }) => index),
    ]),
    before: before.length,
    pair: pair.length,
    after: after.length,
  });
}
