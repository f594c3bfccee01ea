import type { PairwiseDType, PairwisePlan } from '@mercer/kernels';
import { MercerError, type OutOption, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import type { KernelDescriptor } from './descriptor-types.js';
import { checkValue } from './kernel-parameters.js';
import { checkBandwidth, isOneInput, kernelSpec } from './kernel-spec.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import { rowsAndOptions } from './optional-rows.js';
import { prepareCall } from './prepare-call.js';
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
  'symmetric' | 'align' | 'debug' | 'signal' | 'device' | 'regularizationOffset'
> &
  OutOption<D>;

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

/** Implements `runKernel.prepare`. */
export const prepareRunKernel = prepare as unknown as PrepareRunKernel;

/** How a prepared kernel is called. */
const CALL = 'prepared(a, b, options)';

async function prepare(
  descriptor: KernelDescriptor,
  a: Tensor,
  secondExample?: Tensor | AnyRunKernelOptions,
  third?: AnyRunKernelOptions,
): Promise<unknown> {
  const what = 'runKernel';
  const form = `${what}.prepare(descriptor, a, b, options)`;
  const [b, given] = rowsAndOptions<Tensor, AnyRunKernelOptions>(
    `${what}.prepare`,
    form,
    secondExample,
    third,
  );
  const options = readOptions(`${what}.prepare`, given, RUN_KERNEL_OPTIONS);
  const prepared = kernelSpec(what, descriptor, isOneInput(a, b, options), options);
  const second = prepared.symmetric ? undefined : b;
  const call = await prepareCall(prepared, a, second, options);
  const run = (x: Tensor, yOrOptions?: Tensor | CallOptions, last?: CallOptions): Tensor => {
    const [y, given] = rowsAndOptions<Tensor, CallOptions>(what, CALL, yOrOptions, last);
    const { out, stream, ...values } = readOptions(what, given, RUN_KERNEL_OPTIONS);
    const spec = withValues(prepared, descriptor, options, values);
    return call.run(spec, x, prepared.symmetric && y === x ? undefined : y, out, stream);
  };
  return Object.assign(run, { plan: call.plan });
}

type CallOptions = AnyRunKernelOptions;

/** The prepared call with other values of its parameters. */
function withValues(
  prepared: PairwiseSpec,
  descriptor: KernelDescriptor,
  fixed: AnyRunKernelOptions,
  values: CallOptions,
): PairwiseSpec {
  const { parameters: custom, ...named } = values;
  const given = new Map<string, unknown>(
    [
      ...Object.entries(named),
      ...Object.entries(custom ?? {}).map(
        ([name, value]) => [`parameters.${name}`, value] as const,
      ),
    ].filter(([, value]) => value !== undefined),
  );
  if (given.size === 0) return prepared;
  const take = (label: string): ParameterValue | undefined => {
    const value = given.get(label);
    if (value === undefined) return undefined;
    given.delete(label);
    checkValue(prepared.what, label, value);
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
      checkBandwidth(prepared.what, descriptor, values.bandwidth, dtype);
    },
    ...(diagonal && {
      diagonal: { ...diagonal, value: take('regularization') ?? diagonal.value },
    }),
    ...(rows?.scale !== undefined && { rows: { ...rows, scale: take('scale') ?? rows.scale } }),
  };
  for (const [name, value] of given) {
    if (value === fixed[name as keyof AnyRunKernelOptions]) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${prepared.what}: ${name} is no value that a call of this prepared kernel can change: it was not given as a parameter, or it is built in. Prepare another with it, or prepare with a tensor.`,
    );
  }
  return spec;
}
