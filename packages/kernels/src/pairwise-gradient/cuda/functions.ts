import { emitCudaExpression, type CudaExpression } from '../../emit/cuda-expression.js';
import { cudaType } from '../../emit/cuda-literal.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import type { RealExpr } from '@mercer/formula';
import type { CudaGradientPlan } from '../gradient-plan.js';
import type { PlanExpressions } from '../plan-expressions.js';

/** The expressions of a plan as local functions of the kernel. */
export interface CudaFunctions {
  /** Uniform values and the functions `inner`, `pair<i>_of`, `value<j>_of` and `term<j>_of`. */
  readonly setup: string;
  readonly helpers: ReadonlySet<CudaHelper>;
}

/** Writes the expressions; arithmetic on parameters alone is done once, in double precision. */
export function cudaFunctions(plan: CudaGradientPlan, expressions: PlanExpressions): CudaFunctions {
  const helpers = new Set<CudaHelper>();
  const type = cudaType(plan.dtype);
  const texts: string[] = [];
  const write = (
    name: string,
    expr: RealExpr,
    variables: readonly string[],
    approximateRoots = false,
  ): void => {
    const written: CudaExpression = emitCudaExpression(expr, {
      dtype: plan.dtype,
      bindings: Object.fromEntries(variables.map((each) => [each, each])),
      uniform: expressions.uniform,
      positive: expressions.positive,
      nonNegative: plan.nonNegative,
      approximateRoots,
      prefix: `${name}_`,
    });
    written.helpers.forEach((helper) => helpers.add(helper));
    const parameters = variables.map((each) => `${type} ${each}`).join(', ');
    texts.push(
      lines(
        ...written.uniformStatements,
        `const auto ${name} = [=](${parameters}) -> ${type} {`,
        indent(lines(...written.statements, `return ${written.result};`)),
        '};',
      ),
    );
  };
  const perPair = ['upstream', 's'];
  const perStep = ['a', 'b', ...expressions.pairNames];
  if (plan.readsSum) write('inner', expressions.inner, ['a', 'b'], true);
  expressions.pairs.forEach((each, i) => {
    write(`pair${i}_of`, each, perPair);
  });
  expressions.sums.forEach(({ value, term }, j) => {
    if (value !== undefined) write(`value${j}_of`, value, perPair);
    if (term !== undefined) write(`term${j}_of`, term, perStep, true);
  });
  return { setup: lines(...texts), helpers };
}
