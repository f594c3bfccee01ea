import { isTensor, MercerError } from '@mercer/tensor';
import type { BackwardSpec, BackwardVariable } from './backward-spec.js';
import { checkWrt } from './backward-wrt.js';
import type { KernelDescriptor } from './descriptor-types.js';
import { differentiableSpec } from './differentiable-spec.js';
import { PARAMETERS, type ParameterName } from './kernel-parameters.js';
import { kernelSpec } from './kernel-spec.js';
import type { PairwiseSpec } from './pairwise-spec.js';
import type { AnyRunKernelOptions, ParameterValue } from './run-kernel-options.js';

/**
 * What a backward call of a descriptor computes, and by what it differentiates. `one` tells that it has one input.
 *
 * @throws MercerError INVALID_ARGUMENT for the descriptor, for options that do not go with it, and for names that the call does not have
 */
export function backwardSpec(
  what: string,
  descriptor: KernelDescriptor,
  one: boolean,
  options: AnyRunKernelOptions,
  names: readonly string[],
): BackwardSpec {
  const forward = withDiagonal(kernelSpec(what, descriptor, one, options), options);
  const wrt = checkWrt(what, names, variablesOf(forward, one, options));
  if (options.p === Infinity && wrt.has('p')) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the derivative with respect to p is wanted at p = Infinity, where there is none. Leave p out of wrt.`,
    );
  }
  const open = differentiableSpec(forward, descriptor, options, wrt);
  // Parameters that the result does not change with, such as those of a polynomial of degree 0.
  const others = open.parameters.filter(
    ({ name, value }) =>
      isTensor(value) && !forward.parameters.some((parameter) => parameter.name === name),
  );
  return {
    forward: { ...forward, parameters: [...forward.parameters, ...others] },
    open,
    wrt: [...wrt].map((label) => variableOf(label, forward, open, options)),
  };
}

/** A regularisation of 0 changes no value, but has a gradient. */
function withDiagonal(
  spec: PairwiseSpec,
  { regularization: value, regularizationOffset: [x, y] = [0, 0] }: AnyRunKernelOptions,
): PairwiseSpec {
  return value === 0 ? { ...spec, diagonal: { mode: 'add', offset: x - y, value } } : spec;
}

/** The variables that a call has. */
function variablesOf(
  spec: PairwiseSpec,
  one: boolean,
  { parameters, scale, ...options }: AnyRunKernelOptions,
): string[] {
  const given = PARAMETERS.filter((name) => options[name] !== undefined);
  const own = Object.keys(parameters ?? {}).map((name) => `parameters.${name}`);
  return [
    ...new Set([
      ...(one ? ['a'] : ['a', 'b']),
      ...spec.parameters.map(({ label }) => label),
      ...[...given, ...own],
      ...(spec.diagonal === undefined ? [] : ['regularization']),
      ...(scale === undefined ? [] : ['scale']),
    ]),
  ];
}

function variableOf(
  label: string,
  { diagonal, rows }: PairwiseSpec,
  open: BackwardSpec['open'],
  options: AnyRunKernelOptions,
): BackwardVariable {
  const of = (kind: BackwardVariable['kind'], value?: ParameterValue): BackwardVariable => ({
    label,
    kind,
    name: undefined,
    value,
  });
  if (label === 'a' || label === 'b') return of(label);
  if (label === 'scale') return of(label, rows?.scale);
  if (label === 'regularization') return of(label, diagonal?.value);
  const value = given(label, options);
  const parameter = open.parameters.find((one) => one.label === label);
  // A threshold moves nothing but pairs that lie on it.
  return parameter === undefined || label === 'epsilon'
    ? of('none', value)
    : { label, kind: 'parameter', name: parameter.name, value };
}

function given(label: string, options: AnyRunKernelOptions): ParameterValue | undefined {
  const own = label.startsWith('parameters.') ? label.slice('parameters.'.length) : undefined;
  return own === undefined ? options[label as ParameterName] : options.parameters?.[own];
}
