import { substitute, variable, variables, type Expr } from '@mercer/formula';
import { cudaType } from '../../emit/cuda-literal.js';
import type { PairwiseDType } from '../problem.js';
import type { CudaPairwisePlan } from '../plan-types.js';

/** Parameters go by their number: their names come from outside and may be words of C++. */
export const parameterText = (index: number): string => `parameter${index}`;

/** The function that reads a value for one batch entry that is a number or lies in memory. */
export function valueFunction(dtype: PairwiseDType): string {
  return `// a value of the launch: a number, or one per batch entry in memory
__device__ __forceinline__ double parameter_value(const ${cudaType(dtype)}* at, long long stride, double value, long long layer) {
  return at == nullptr ? value : (double)at[layer * stride];
}`;
}

/** Text of a value's reading, with `layer` in scope. */
export function readValue(name: string, layer: string): string {
  return `parameter_value(${name}At, ${name}Stride, ${name}Value, ${layer})`;
}

/** An expression whose parameters have the names that they have in C++. */
export interface RenamedExpression<E extends Expr> {
  readonly expr: E;
  /** The parameters in it, in the plan's order. */
  readonly used: readonly string[];
  /** The one that is p, if any. */
  readonly exponent: string | undefined;
}

/** The expression with the plan's parameters renamed to their C++ names. */
export function renameParameters<E extends Expr>(
  expr: E,
  { parameters = [] }: Pick<CudaPairwisePlan, 'parameters'>,
): RenamedExpression<E> {
  const present = variables(expr);
  const entries = parameters.map((name, i) => [name, parameterText(i)] as const);
  const renamed = substitute(
    expr,
    Object.fromEntries(entries.map(([name, text]) => [name, variable(text)])),
  );
  return {
    expr: renamed,
    used: entries.filter(([name]) => present.includes(name)).map(([, text]) => text),
    exponent: entries.find(([name]) => name === 'p')?.[1],
  };
}
