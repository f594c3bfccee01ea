import type { PairwiseDType, PairwisePlan } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { MercerError, type OutOption, type ShardOptions, type Tensor } from '@mercer/tensor';
import type { KernelDescriptor } from './descriptor-types.js';
import { checkValue } from './kernel-parameters.js';
import { checkBandwidth } from './kernel-spec.js';
import type { PairwiseExample } from './pairwise-operation.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import {
  RUN_KERNEL_OPTIONS,
  type AnyRunKernelOptions,
  type ParameterValue,
  type RowsAndOptions,
  type RunKernelOptions,
} from './run-kernel-options.js';

/** Parameters that a prepared kernel takes anew with each call. */
type CallParameters<F extends KernelDescriptor, D extends PairwiseDType> = Partial<
  Pick<AnyRunKernelOptions<D>, keyof AnyRunKernelOptions & keyof RunKernelOptions<F, D>>
>;

/** Options of one call of a prepared kernel: new values of its parameters; those left out keep the prepared ones. */
export type PreparedKernelOptions<F extends KernelDescriptor, D extends PairwiseDType> = Omit<
  CallParameters<F, D>,
  | 'symmetric'
  | 'align'
  | 'debug'
  | 'signal'
  | 'device'
  | 'regularizationOffset'
  | keyof ShardOptions
> &
  OutOption<D>;

/** Names of {@link PreparedKernelOptions}: the other options of `runKernel` are fixed. */
const {
  symmetric: _symmetric,
  align: _align,
  debug: _debug,
  signal: _signal,
  device: _device,
  regularizationOffset: _regularizationOffset,
  devices: _devices,
  maxBytes: _maxBytes,
  onProgress: _onProgress,
  ...names
} = RUN_KERNEL_OPTIONS;

export const PREPARED_KERNEL_OPTIONS: OptionNames<
  PreparedKernelOptions<KernelDescriptor, PairwiseDType>
> = names;

/**
 * A kernel matrix whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and returns the result. The
 * descriptor, dtype, device, layouts and the number of features K are fixed, and so is whether b was left out; M, N and the
 * batch are free. Parameters may have other values, numbers or tensors, with each call, those apart that are built into the
 * kernel: exponents and a degree that were numbers. Prepare with a tensor to vary these too.
 *
 * It blocks only while the stream has no room for another launch: `await stream.room()` between calls avoids that.
 *
 * @throws MercerError as `runKernel` does, NOT_CONTIGUOUS where a layout differs from the prepared one, and INVALID_ARGUMENT
 *   for another value of what is built in
 */
export interface PreparedKernel<F extends KernelDescriptor, D extends PairwiseDType> {
  <T = unknown>(
    a: Tensor<D>,
    ...rest: RowsAndOptions<Tensor<D>, PreparedKernelOptions<F, D>, T>
  ): Tensor<D>;
  /** The plan used; it was chosen for sizes like those of the examples. */
  readonly plan: PairwisePlan;
}

/** Prepares a kernel for tensors like `a` and `b`, which are examples: only their type, layout and sizes are read. */
export type PrepareRunKernel = <F extends KernelDescriptor, D extends PairwiseDType, T = unknown>(
  descriptor: F,
  a: Tensor<D>,
  ...rest: RowsAndOptions<Tensor<NoInfer<D>>, RunKernelOptions<F, NoInfer<D>>, T>
) => Promise<PreparedKernel<F, D>>;

/**
 * The prepared call with other values of its parameters.
 *
 * @throws MercerError INVALID_ARGUMENT for a value that is none, and for one that a prepared call cannot change
 */
export function withValues(
  { spec: prepared, options: fixed }: PairwiseExample<AnyRunKernelOptions>,
  descriptor: KernelDescriptor,
  { out: _out, stream: _stream, parameters: custom, ...named }: AnyRunKernelOptions,
): PairwiseSpec {
  const given = new Map<string, unknown>();
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined && value !== fixed[name as keyof AnyRunKernelOptions]) {
      given.set(name, value);
    }
  }
  if (custom !== fixed.parameters) {
    for (const [name, value] of Object.entries<unknown>(custom ?? {})) {
      if (value !== undefined) given.set(`parameters.${name}`, value);
    }
  }
  if (given.size === 0) return prepared;
  const { what } = prepared;
  const take = (label: string): ParameterValue | undefined => {
    const value = given.get(label);
    if (value === undefined) return undefined;
    given.delete(label);
    checkValue(what, label, value);
    return value as ParameterValue;
  };
  const parameters = prepared.parameters.map((parameter): NamedValue => ({
    ...parameter,
    value: take(parameter.label) ?? parameter.value,
  }));
  const { diagonal, rows } = prepared;
  const spec: PairwiseSpec = {
    ...prepared,
    parameters,
    check: (dtype) => {
      checkBandwidth(what, descriptor, named.bandwidth, dtype);
    },
    ...(diagonal && {
      diagonal: { ...diagonal, value: take('regularization') ?? diagonal.value },
    }),
    ...(rows?.scale !== undefined && { rows: { ...rows, scale: take('scale') ?? rows.scale } }),
  };
  const [stranger] = given.keys();
  if (stranger === undefined) return spec;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${stranger} is no value that a call of this prepared kernel can change: it was not given as a parameter, or it is built in. Prepare another with it, or prepare with a tensor.`,
  );
}
