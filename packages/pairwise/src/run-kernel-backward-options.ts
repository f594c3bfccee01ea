import type { PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import type { StreamOption, Tensor } from '@mercer/tensor';
import type { BlockedOuts } from './blocks/blocked-backward.js';
import type { HostOut } from './blocks/result-sink.js';
import type { CustomKernel } from './custom-kernel.js';
import type { KernelDescriptor } from './descriptor-types.js';
import {
  RUN_KERNEL_OPTIONS,
  type AnyRunKernelOptions,
  type DescriptorOptions,
  type PairwiseCallOptions,
  type RowsAndOptions,
  type RunKernelOptions,
} from './run-kernel-options.js';

/** Options that gradients do not have. */
type Elsewhere = 'out' | 'device';

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

/** Options of `runKernelBackward`: those of the forward call, what is wanted, and where it is written. */
export type RunKernelBackwardOptions<
  F extends KernelDescriptor,
  D extends PairwiseDType,
  W extends readonly string[],
  O = GradientOutsOf<W, D>,
> = ([KernelDescriptor] extends [F]
  ? Omit<AnyRunKernelOptions<D>, Elsewhere>
  : Omit<PairwiseCallOptions<D>, Elsewhere> & DescriptorOptions<F, D>) & {
  /** Default: ['a', 'b'], or ['a'] where b was left out. */
  readonly wrt?: W | undefined;
  /** What gradients are written to, by the names in wrt: tensors, and for a and b also what `runKernel` takes as `out`. */
  readonly out?: O | undefined;
};

/** The same of any descriptor. */
export type AnyBackwardOptions = Omit<AnyRunKernelOptions, Elsewhere> & {
  readonly out?: BlockedOuts | undefined;
  readonly wrt?: readonly string[] | undefined;
};

const { device: _device, ...FORWARD } = RUN_KERNEL_OPTIONS;

/** Names of {@link AnyBackwardOptions}. */
export const BACKWARD_OPTIONS: OptionNames<AnyBackwardOptions> = { ...FORWARD, wrt: true };

/** What a prepared backward call takes anew. */
export interface PreparedBackwardOptions<
  W extends readonly string[],
  D extends PairwiseDType,
> extends StreamOption {
  /** Tensors that gradients are written to, by the names in wrt. */
  readonly out?: { readonly [N in W[number]]?: Tensor<D> | undefined } | undefined;
}

/**
 * A backward call whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and returns the gradients. dtype, device,
 * the number of features, what is differentiated by, and the values and tensors of the options are fixed. One that was prepared for one
 * matrix takes no b: `prepared(gradient, a, options)`.
 *
 * @throws MercerError as the call does, and INVALID_ARGUMENT where a layout or size needs other kernels
 */
export type PreparedBackward<W extends readonly string[], D extends PairwiseDType> = <T = unknown>(
  gradient: Tensor<D>,
  a: Tensor<D>,
  ...rest: RowsAndOptions<Tensor<D>, PreparedBackwardOptions<W, D>, T>
) => Gradients<W, D>;

/** Exactly the gradients that were asked for, each in the shape of its variable, [] for a number. */
export type Gradients<W extends readonly string[], D extends PairwiseDType> = {
  readonly [N in W[number]]: Tensor<D>;
};

/** Where gradients are written, by the names in wrt; those of a and b may go to host memory. */
export type GradientOutsOf<W extends readonly string[], D extends PairwiseDType> = {
  readonly [N in W[number]]?: Tensor<D> | (N extends 'a' | 'b' ? HostOut : never) | undefined;
};

/** Of a call without `out`. */
export type NoOuts = object;

/** Gradients, or what was given for those that go to host memory. */
export type GradientsIn<W extends readonly string[], D extends PairwiseDType, O> = {
  readonly [N in W[number]]: N extends keyof O
    ? O[N] extends HostOut
      ? O[N]
      : Tensor<D>
    : Tensor<D>;
};
