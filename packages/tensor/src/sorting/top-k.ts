import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { checkAxis } from '../arithmetic/axes.js';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { LOAD_OPTIONS, WORK_OPTIONS, type LoadOptions, type WorkOptions } from '../device.js';
import { takeAlongAxis } from '../indexing/take.js';
import { MercerError } from '../mercer-error.js';
import { heard, whenArrived } from '../pending.js';
import { readOptions } from '../read-options.js';
import type { Tensor } from '../tensor.js';
import { withOrder } from './sort.js';

/** Options of {@link topK}. */
export interface TopKOptions extends WorkOptions, LoadOptions {
  /** The largest elements, else the least. Default: true. */
  readonly largest?: boolean | undefined;
}

const TOP_K_OPTIONS: OptionNames<TopKOptions> = {
  ...WORK_OPTIONS,
  ...LOAD_OPTIONS,
  largest: true,
};

/** What {@link topK} gives. */
export interface TopK<D extends DType> {
  readonly values: Tensor<D>;
  /** Where they are along the axis. */
  readonly indices: Tensor<'int32'>;
}

/**
 * The k largest elements along an axis, the largest first, and where they are; of equal elements those that come first. With
 * `largest: false` the least, from the least on. NaN is taken last, whichever are asked for. Gradients go to where the values came from.
 *
 * All elements are sorted (see `argSort`). For the nearest of many rows, `kMinArgKMin` of `@mercer/lazy` needs no matrix of distances.
 *
 * ```ts
 * import { tensor, topK } from '@mercer/tensor';
 *
 * const x = await tensor([[3, 1, 2], [7, 9, 8]], { device: 'cpu' });
 * const { values, indices } = await topK(x, 2);
 * console.log(await values.toNested(), await indices.toNested()); // [ [ 3, 2 ], [ 9, 8 ] ] [ [ 0, 2 ], [ 1, 2 ] ]
 * ```
 *
 * @param x any dtype and strides, rank 1 or more, at most 2^30 elements along the axis
 * @param k from 0 to the elements of the axis
 * @param axis counted from the end where it is negative; default: the last
 * @returns two tensors of x's shape, with k elements along the axis; row-major
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED
 */
export async function topK<D extends DType>(
  x: TensorOperand<D>,
  k: number,
  axis = -1,
  options?: TopKOptions,
): Promise<TopK<D>> {
  heard([x]);
  const { largest = true, ...given } = readOptions('topK', options, TOP_K_OPTIONS);
  if (typeof (largest as unknown) !== 'boolean') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `topK: largest is ${describeValue(largest)}. Pass true or false.`,
    );
  }
  return whenArrived([x, given], async ([present]) =>
    withOrder('topK', present, axis, { ...given, descending: largest }, async (order, turn) => {
      const one = present as Tensor<D>;
      const at = checkAxis('topK', axis, one.rank, one.label);
      const extent = one.shape[at] ?? 0;
      if (!Number.isInteger(k) || k < 0 || k > extent) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `topK: k is ${describeValue(k)} for axis ${at} of ${one.label}. Pass an integer from 0 to ${extent}.`,
        );
      }
      const { stream, signal } = given;
      using first = order.slice(...new Array<null>(at).fill(null), [0, k]);
      const indices = await turn.run(() => first.clone({ stream, signal }));
      try {
        return { values: await turn.run(() => takeAlongAxis(one, indices, axis, given)), indices };
      } catch (error) {
        indices.dispose();
        throw error;
      }
    }),
  );
}

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The k largest elements along an axis, and where they are: see {@link topK}. */
    topK(k: number, axis?: number, options?: TopKOptions): Promise<TopK<D>>;
  }
}

attachMethods({ topK: { gives: 'value', takesPending: true, call: topK } });
