import type { PairwiseDType, PairwisePlan } from '@mercer/kernels';
import type { OutOption, Tensor } from '@mercer/tensor';
import { OUT_OPTION, readOptions } from '@mercer/tensor/operation';
import { PREPARE_CDIST_OPTIONS, type CdistOptions } from './cdist-options.js';
import { cdistSpec } from './cdist-spec.js';
import { prepareCall } from './prepare-call.js';

/** Options of `cdist.prepare`; `out` is an example whose layout the prepared function writes. */
export type PrepareCdistOptions<D extends PairwiseDType> = Omit<CdistOptions<D>, 'device'>;

/**
 * A distance whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and returns the result. dtype,
 * device, layouts, the number of features K, p and skipEpilogue are fixed; M, N and the batch are free.
 *
 * It blocks only while the stream has no room for another launch: `await stream.room()` between calls avoids that.
 *
 * @throws MercerError as `cdist` does, and NOT_CONTIGUOUS where a layout differs from the prepared one
 */
export interface PreparedCdist<D extends PairwiseDType> {
  (a: Tensor<D>, b: Tensor<D>, options?: OutOption<D>): Tensor<D>;
  /** The plan used; it was chosen for sizes like those of the examples. */
  readonly plan: PairwisePlan;
}

/** Prepares a distance for tensors like `a` and `b`, which are examples: only their type, layout and sizes are read. */
export type PrepareCdist = <D extends PairwiseDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: PrepareCdistOptions<NoInfer<D>>,
) => Promise<PreparedCdist<D>>;

/** Implements `cdist.prepare`. */
export const prepareCdist: PrepareCdist = async <D extends PairwiseDType>(
  a: Tensor<D>,
  b: Tensor<D>,
  options?: PrepareCdistOptions<D>,
): Promise<PreparedCdist<D>> => {
  options = readOptions('cdist.prepare', options, PREPARE_CDIST_OPTIONS);
  const spec = cdistSpec(options);
  const call = await prepareCall(spec, a, b, options);
  const run = (x: Tensor<D>, y: Tensor<D>, callOptions?: OutOption<D>): Tensor<D> => {
    const { out, stream } = readOptions('cdist', callOptions, OUT_OPTION);
    return call.run(spec, x, y, out, stream) as Tensor<D>;
  };
  return Object.assign(run, { plan: call.plan });
};
