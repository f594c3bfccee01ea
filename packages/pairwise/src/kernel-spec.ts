import {
  customParameterName,
  descriptorExpressions,
  isOneAtZero,
  type DescriptorExpressions,
  type KnownValue,
  type PairwiseDType,
} from '@mercer/kernels';
import { MercerError } from '@mercer/tensor';
import { checkDescriptor } from './check-descriptor.js';
import { checkKernelOptions } from './check-kernel-options.js';
import type { KernelDescriptor } from './descriptor-types.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import type { AnyRunKernelOptions, ParameterValue } from './run-kernel-options.js';

/** Kernels of 1 / bandwidth; the others have its square. */
const UNSQUARED: readonly string[] = ['laplace', 'matern12', 'matern32', 'matern52'];

/** Kermac's default, for its own kernels. */
const KERMAC_EPSILON = 1e-5;

/** Whether a call has one input: b was left out, or it is a and the call says that it is symmetric. */
export function isOneInput(a: unknown, b: unknown, { symmetric }: AnyRunKernelOptions): boolean {
  return b === undefined || (b === a && symmetric === true);
}

/**
 * What a call of `runKernel` computes. `one` tells that it has one input.
 *
 * @throws MercerError INVALID_ARGUMENT for the descriptor and for options that do not go with it
 */
export function kernelSpec(
  what: string,
  descriptor: KernelDescriptor,
  one: boolean,
  options: AnyRunKernelOptions,
): PairwiseSpec {
  checkDescriptor(descriptor, what);
  checkKernelOptions(what, descriptor, options);
  const epsilon = options.epsilon ?? defaultEpsilon(descriptor);
  const expressions = descriptorExpressions(descriptor, {
    p: known(options.p),
    innerP: known(options.innerP),
    outerP: known(options.outerP),
    degree: known(options.degree),
    epsilon: epsilon !== 0,
  });
  const diagonal = diagonalOf(descriptor, expressions, options);
  const normalise = descriptor.kernel === 'cosine';
  return {
    what,
    expressions,
    p: expressions.p,
    parameters: expressions.parameters.map((name) => valueOf(name, descriptor, options, epsilon)),
    diagonal,
    rows:
      normalise || options.scale !== undefined ? { normalise, scale: options.scale } : undefined,
    symmetric: symmetryOf(what, descriptor, one, options),
    align: options.align ?? true,
    check: (dtype) => {
      checkBandwidth(what, descriptor, options.bandwidth, dtype);
    },
  };
}

const known = (value: ParameterValue | undefined): KnownValue | undefined =>
  value === undefined || typeof value === 'number' ? value : 'parameter';

function defaultEpsilon({ innerOperator, kernel }: KernelDescriptor): number {
  const clamps = innerOperator === 'diff' && (kernel === 'laplace' || kernel === 'gaussian');
  return clamps ? KERMAC_EPSILON : 0;
}

/** A parameter of the problem under the caller's name and with the caller's value. */
function valueOf(
  name: string,
  { kernel }: KernelDescriptor,
  options: AnyRunKernelOptions,
  epsilon: ParameterValue,
): NamedValue {
  if (name === 'epsilon') return { name, label: name, value: epsilon };
  if (name === 'p') {
    const label = options.p === undefined ? 'innerP' : 'p';
    return { name, label, value: options[label] ?? NaN };
  }
  if (typeof kernel === 'string') {
    return { name, label: name, value: options[name as 'bandwidth'] ?? NaN };
  }
  const own = kernel.parameters.find((_, i) => customParameterName(i) === name);
  return own === undefined
    ? { name, label: name, value: options[name as 'outerP'] ?? NaN }
    : { name, label: `parameters.${own}`, value: options.parameters?.[own] ?? NaN };
}

function diagonalOf(
  { innerOperator }: KernelDescriptor,
  expressions: DescriptorExpressions,
  { regularization: value, regularizationOffset: [x, y] = [0, 0] }: AnyRunKernelOptions,
): PairwiseSpec['diagonal'] {
  if (value === undefined || value === 0) return undefined;
  const set = innerOperator === 'diff' && isOneAtZero(expressions);
  return { mode: set ? 'set' : 'add', offset: x - y, value };
}

function symmetryOf(
  what: string,
  { innerOperator, innerPower }: KernelDescriptor,
  one: boolean,
  { symmetric }: AnyRunKernelOptions,
): boolean {
  const exchangeable = innerOperator === 'dot' || (innerPower !== 'none' && innerPower !== 'sqrt');
  if (symmetric === true && !one) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: symmetric is true and b is another input than a. Leave b out, or leave symmetric out.`,
    );
  }
  if (symmetric === true && !exchangeable) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: symmetric is true, and innerPower '${innerPower}' of differences changes when a and b are exchanged. Leave symmetric out: all pairs are computed then.`,
    );
  }
  return symmetric ?? (one && exchangeable);
}

/**
 * 1 / h, or 1 / h^2 where the kernel has that, must be a number of the data type: 0 times infinity is none.
 *
 * @throws MercerError INVALID_ARGUMENT
 */
export function checkBandwidth(
  what: string,
  { kernel }: KernelDescriptor,
  bandwidth: ParameterValue | undefined,
  dtype: PairwiseDType,
): void {
  if (typeof bandwidth !== 'number') return;
  const plain = typeof kernel === 'string' && UNSQUARED.includes(kernel);
  const factor = 1 / (plain ? bandwidth : bandwidth * bandwidth);
  if ((dtype === 'float32' ? Math.fround(factor) : factor) < Infinity) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: bandwidth is ${bandwidth}, and ${plain ? '1 / bandwidth' : '1 / bandwidth^2'} is beyond ${dtype}. Scale the data and the bandwidth up.`,
  );
}
