import { type CpuExpression, uniformsText } from '../../emit/cpu-expression.js';
import { argumentsStruct, snakeCase, STANDARD_INTEGERS } from '../../emit/parameter-text.js';
import type { CpuPairwisePlan } from './plan.js';
import { pairwiseParams } from '../params.js';

/** C++ text of the launch values that expressions may read, by the name of the variable. */
export function uniformNames({ parameters = [] }: CpuPairwisePlan): Record<string, string> {
  const own = parameters.map((name, i) => [name, parameterText(i)] as const);
  return { p: 'p', ...Object.fromEntries(own) };
}

/** Parameters go by their number: their names come from outside and may be words of C++. */
const parameterText = (index: number): string => `parameter${index}`;

/** The launch's arguments; the value of a parameter has its name alone. */
export function argumentsText({ dtype, parameters = [] }: CpuPairwisePlan): string {
  const nameOf = (name: string): string =>
    snakeCase(name.replace('batchStride', 'batch').replace(/Value$/, ''));
  return argumentsStruct(
    pairwiseParams(
      dtype,
      parameters.map((_, i) => parameterText(i)),
    ),
    {
      integers: STANDARD_INTEGERS,
      inLines: true,
      dtypeOfT: dtype,
      nameOf,
    },
  );
}

/** What all values that depend on the launch alone are kept in. */
export function launchText(
  { parameters = [] }: CpuPairwisePlan,
  expressions: readonly CpuExpression[],
): string {
  const own = parameters.map((_, i) => parameterText(i));
  const text = uniformsText(expressions, ['p', ...own]);
  return own.length === 0 ? text : `${text}\n${PARAMETER_VALUE}`;
}

/** Reads a value that is a number or lies in memory, one per batch entry. */
const PARAMETER_VALUE = `INLINE double parameter_value(const T* at, int64_t stride, double value, int64_t layer) {
  return at == nullptr ? value : (double)at[layer * stride];
}`;

/** The call that fills the struct for batch entry `l`. */
export function setUniforms({ parameters = [] }: CpuPairwisePlan): string {
  const values = parameters.map((_, i) => {
    const name = parameterText(i);
    return `, parameter_value(g.${name}_at, g.${name}_stride, g.${name}, l)`;
  });
  return `set_uniforms(u, g.p${values.join('')});`;
}
