import type { Pending, Tensor } from '@mercer/tensor';
import { givesPending, readOptions } from '@mercer/tensor/operation';
import { CDIST_OPTIONS, type CdistOptions } from './cdist-options.js';
import { cdistSpec } from './cdist-spec.js';
import { execute } from './execute.js';
import { refuseOptionsAsRows } from './optional-rows.js';
import type { PairwiseInput } from './place.js';
import { prepareCdist, type PrepareCdist } from './prepare-cdist.js';
import type { DTypeOfRows, RowsBeside, RowsInput } from './rows-input.js';

/** How `cdist` is called. One signature, so that the compiler's message is about the argument that is wrong. */
export interface Cdist {
  <A extends RowsInput, B extends RowsBeside<A>>(
    a: A,
    b: B,
    options?: CdistOptions<DTypeOfRows<A, B>>,
  ): Pending<Tensor<DTypeOfRows<A, B>>>;
  /** Compiles once and returns a synchronous function: see PreparedCdist. */
  readonly prepare: PrepareCdist;
}

/**
 * Distances between all rows of `a` and all rows of `b`:
 * `out[..., m, n] = (sum_k |a[..., m, k] - b[..., n, k]|^p)^(1/p)`, and for p = Infinity the largest difference.
 *
 * Shapes: a (..., M, K), b (..., N, K), result (..., M, N); the leading batch axes broadcast. dtype float32 or float64,
 * the same for both. Inputs may be row- or column-major with any leading stride; other strides are copied first. Memory
 * beyond the result is needed only for such copies and where few rows make it worth splitting the sum.
 *
 * Accuracy (float32, u = 2^-24): each term |d|^p within (6 + 1.5 p |log2 |d||) u, the sum of K terms within
 * (2 sqrt K + 4) u typically and K u at worst, both relative; equal rows have distance exactly 0. NaN in a row makes its
 * distances NaN, for every p. On a GPU, where p is none of 1, 2 and infinity, float32 differences and sums below 2^-126 may
 * count as 0.
 *
 * Resolves when the work is enqueued; `toTypedArray` waits for it. `planOf(result)` tells how it is computed.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT (p), OVERLAP and NOT_CONTIGUOUS
 *   (out), DISPOSED, OUT_OF_MEMORY; nothing is written then
 *
 * @example
 * ```ts
 * import { cdist } from '@mercer/pairwise';
 *
 * const d = await cdist([[0, 0], [6, 8]], [[3, 4]], { p: 2, device: 'cpu' });
 * console.log(await d.toNested()); // [ [ 5 ], [ 5 ] ]
 * ```
 */
export const cdist: Cdist = Object.assign(givesPending(compute), { prepare: prepareCdist });

async function compute(
  a: PairwiseInput,
  b: PairwiseInput,
  options?: CdistOptions,
): Promise<Tensor<never>> {
  if (options === undefined) refuseOptionsAsRows('cdist', 'cdist(a, b, options)', b);
  const given = readOptions('cdist', options, CDIST_OPTIONS);
  return (await execute(cdistSpec(given), a, b, given)) as Tensor<never>;
}
