import type { PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import type { CustomKernel } from './custom-kernel.js';
import type { KernelDescriptor } from './descriptor-types.js';
import {
  RUN_KERNEL_OPTIONS,
  type AnyRunKernelOptions,
  type PairwiseCallOptions,
  type RunKernelOptions,
} from './run-kernel-options.js';

/** Options that are no numbers, and those of a custom kernel, which have names of their own. */
type Constant = keyof PairwiseCallOptions | 'symmetric' | 'parameters';

type CustomNames<K> =
  K extends CustomKernel<infer P> ? ([P] extends [never] ? never : `parameters.${P}`) : never;

/**
 * What `runKernelBackward` differentiates by: the inputs, what every call may have, and the parameters of the descriptor;
 * those of a custom kernel as `parameters.name`.
 */
export type RunKernelVariable<F extends KernelDescriptor = KernelDescriptor> =
  | 'a'
  | 'b'
  | 'scale'
  | 'regularization'
  | Exclude<Extract<keyof RunKernelOptions<F>, string>, Constant>
  | CustomNames<F['kernel']>;

/** Options of `runKernelBackward`: those of the forward call without its output, and what is wanted. */
export type RunKernelBackwardOptions<
  F extends KernelDescriptor,
  D extends PairwiseDType,
  W extends readonly string[],
> = RunKernelOptions<F, D> & {
  /** Default: ['a', 'b'], or ['a'] where b was left out. */
  readonly wrt?: W | undefined;
  readonly out?: never;
  readonly device?: never;
};

/** The same of any descriptor. */
export type AnyBackwardOptions = Omit<AnyRunKernelOptions, 'out' | 'device'> & {
  readonly wrt?: readonly string[] | undefined;
};

const { out: _out, device: _device, ...FORWARD } = RUN_KERNEL_OPTIONS;

/** Names of {@link AnyBackwardOptions}. */
export const BACKWARD_OPTIONS: OptionNames<AnyBackwardOptions> = { ...FORWARD, wrt: true };

/** Exactly the gradients that were asked for, each in the shape of its variable, [] for a number. */
export type Gradients<W extends readonly string[], D extends PairwiseDType> = {
  readonly [N in W[number]]: Tensor<D>;
};
