import {
  descriptorExpressions,
  type DescriptorExpressions,
  type KnownValue,
} from '@mercer/kernels';
import type { KernelDescriptor } from './descriptor-types.js';
import type { ParameterName } from './kernel-parameters.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import type { AnyRunKernelOptions, ParameterValue } from './run-kernel-options.js';

/** Expressions with everything that is differentiated by as a variable, and the values of the variables. */
export interface DifferentiableSpec {
  readonly expressions: Pick<DescriptorExpressions, 'inner' | 'outer' | 'reduce'>;
  readonly parameters: readonly NamedValue[];
}

/**
 * The expressions of a call for gradients of parameters. Exponents and degrees that were given as numbers stand in the text as
 * numbers or as the launch scalar; where their gradient is wanted they become parameters.
 */
export function differentiableSpec(
  spec: PairwiseSpec,
  descriptor: KernelDescriptor,
  options: AnyRunKernelOptions,
  wrt: ReadonlySet<string>,
): DifferentiableSpec {
  const { p, innerP, outerP, degree } = options;
  if (!['p', 'innerP', 'outerP', 'degree'].some((name) => wrt.has(name))) return spec;
  const open = (value: ParameterValue | undefined): KnownValue | undefined =>
    value === undefined ? undefined : 'parameter';
  const expressions = descriptorExpressions(descriptor, {
    p: open(p),
    innerP: open(innerP),
    outerP: open(outerP),
    degree: open(degree),
    epsilon: spec.parameters.some(({ name }) => name === 'epsilon'),
  });
  const opened = (name: string): NamedValue => {
    const label = name === 'p' && p === undefined ? 'innerP' : (name as ParameterName);
    return { name, label, value: options[label] ?? NaN };
  };
  return {
    expressions,
    parameters: expressions.parameters.map(
      (name) => spec.parameters.find((each) => each.name === name) ?? opened(name),
    ),
  };
}
