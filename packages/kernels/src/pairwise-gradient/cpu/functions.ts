import { emitCpuExpression, type CpuExpression } from '../../emit/cpu-expression.js';
import type { CpuGradientPlan } from '../gradient-plan.js';
import type { PlanExpressions } from '../plan-expressions.js';

/** The functions that the text of a plan calls. */
export interface CpuGradientFunctions {
  readonly inner: CpuExpression;
  readonly pairs: readonly CpuExpression[];
  readonly values: readonly (CpuExpression | undefined)[];
  readonly terms: readonly (CpuExpression | undefined)[];
}

/** Writes the expressions of a plan as functions. */
export function cpuFunctions(
  plan: CpuGradientPlan,
  expressions: PlanExpressions,
): CpuGradientFunctions {
  const uniforms = Object.fromEntries(expressions.uniform.map((name) => [name, name]));
  const common = { dtype: plan.dtype, uniforms, nonNegative: plan.nonNegative };
  const perPair = ['upstream', 's'];
  const perStep = ['a', 'b', ...expressions.pairNames];
  return {
    inner: emitCpuExpression(expressions.inner, {
      ...common,
      name: 'inner',
      parameters: ['a', 'b'],
    }),
    pairs: expressions.pairs.map((each, i) =>
      emitCpuExpression(each, { ...common, name: `pair_${i}`, parameters: perPair }),
    ),
    values: expressions.sums.map(({ value }, i) =>
      value === undefined
        ? undefined
        : emitCpuExpression(value, { ...common, name: `value_${i}`, parameters: perPair }),
    ),
    terms: expressions.sums.map(({ term }, i) =>
      term === undefined
        ? undefined
        : emitCpuExpression(term, { ...common, name: `term_${i}`, parameters: perStep }),
    ),
  };
}

/** Those that there are, in the order of the text. */
export function allFunctions({
  inner,
  pairs,
  values,
  terms,
}: CpuGradientFunctions): CpuExpression[] {
  return [inner, ...pairs, ...values, ...terms].filter((each) => each !== undefined);
}
