import type { PairwiseDType, PairwisePlan } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import type { OutOption, RowReader, ShardOptions, Tensor } from '@mercer/tensor';
import {
  differentiable,
  only,
  OUT_OPTION,
  pendingOf,
  readOptions,
  shardsOf,
  callsWhenArrived,
  type BatchRule,
  type DerivativeRule,
} from '@mercer/tensor/operation';
import { ofRows } from './batch-rules.js';
import { cdistBackward } from './cdist-backward.js';
import { CDIST_OPTIONS, PREPARE_CDIST_OPTIONS, type CdistOptions } from './cdist-options.js';
import { cdistSpec } from './cdist-spec.js';
import { refuseTracedOut } from './blocks/blocked-call.js';
import { computeBlocks, isBlocked, refuseBlocks } from './blocks/compute-blocks.js';
import type { HostOut } from './blocks/result-sink.js';
import { refuseOptionsAsRows } from './optional-rows.js';
import { pairwiseOperation } from './pairwise-operation.js';
import type { PairwiseInput } from './place.js';
import { rowsLike, shareOf } from './pair-derivatives.js';
import type { BlockRows, BlockRowsBeside, DTypeOfRows, ResultIn } from './rows-input.js';

/** Options of `cdist.prepare`; `out` is an example whose layout the prepared function writes. */
export type PrepareCdistOptions<D extends PairwiseDType> = Omit<
  CdistOptions<D>,
  'device' | keyof ShardOptions
>;

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

const operation = pairwiseOperation<CdistOptions, readonly [a: PairwiseInput, b: PairwiseInput]>({
  what: 'cdist',
  options: CDIST_OPTIONS,
  prepareOptions: PREPARE_CDIST_OPTIONS,
  freeOptions: OUT_OPTION,
  read: ([a, b], options) => {
    refuseOptionsAsRows('cdist', 'cdist(a, b, options)', b);
    return [[cdistSpec(options), a, b], options];
  },
});

/** Rows may be host data, which has no gradient. */
const derivative: DerivativeRule<
  readonly [a: PairwiseInput, b: PairwiseInput, options?: CdistOptions]
> = {
  vjp: (g, { args: [a, b, options = {}] }) => {
    const { p, skipEpilogue } = options;
    const shards = shardsOf(options);
    // blocks are brought of data where it lies
    const [x, y] = isBlocked([a, b], shards) ? [a, b] : [rowsLike(a, g), rowsLike(b, g)];
    const gradients = (wrt: 'a' | 'b'): Promise<Readonly<Record<string, Tensor>>> =>
      cdistBackward(g as Tensor<'float64'>, x as never, y as never, {
        p,
        skipEpilogue,
        wrt: [wrt],
        ...shards,
      });
    return [shareOf(gradients, 'a', a), shareOf(gradients, 'b', b)];
  },
};

/** How `cdist` is called. One signature, so that the compiler's message is about the argument that is wrong. */
export interface Cdist {
  <
    A extends BlockRows,
    B extends BlockRowsBeside<A>,
    O extends Tensor<DTypeOfRows<A, B>> | HostOut = Tensor<DTypeOfRows<A, B>>,
  >(
    a: A,
    b: B,
    options?: CdistOptions<DTypeOfRows<A, B>, O>,
  ): ResultIn<O, DTypeOfRows<A, B>>;
  /** Compiles once and returns a synchronous function: see PreparedCdist. */
  readonly prepare: PrepareCdist;
}

const inMemory = differentiable(
  'cdist',
  Object.assign(
    // what is not there yet has been waited for
    (a: PairwiseInput, b: PairwiseInput, options?: CdistOptions) => operation.one([a, b], options),
    {
      prepare: async <D extends PairwiseDType>(
        a: Tensor<D>,
        b: Tensor<D>,
        options?: PrepareCdistOptions<D>,
      ): Promise<PreparedCdist<D>> => {
        refuseBlocks('cdist', [a, b], options);
        const prepared = await operation.prepare([a, b], options);
        const run = (x: Tensor<D>, y: Tensor<D>, callOptions?: OutOption<D>): Tensor<D> =>
          only(prepared([x, y], callOptions)) as Tensor<D>;
        return Object.assign(run, { plan: prepared.plan as PairwisePlan });
      },
    },
  ),
  derivative,
  ofRows as BatchRule,
  'one call',
);

type BlockInput = PairwiseInput | RowReader;
type BlockOptions = CdistOptions<PairwiseDType, Tensor | HostOut>;

const inBlocks = (a: BlockInput, b: BlockInput, given: BlockOptions): Promise<unknown> =>
  callsWhenArrived([a, b], async ([x, y]) => {
    const options = readOptions('cdist', given, CDIST_OPTIONS as OptionNames<typeof given>);
    const { p, skipEpilogue, debug } = options;
    refuseOptionsAsRows('cdist', 'cdist(a, b, options)', y);
    return computeBlocks({
      ...options,
      what: 'cdist',
      a: x as BlockInput,
      b: y as BlockInput,
      parameters: [],
      compute: async ({ a: rows, b: columns = rows, out, signal }) =>
        operation.one([rows, columns], { p, skipEpilogue, debug, out, signal } as CdistOptions),
    });
  });

/** The same as a call that has first derivatives. */
const blocked = differentiable(
  'cdist',
  (a: BlockInput, b: BlockInput, options: BlockOptions = {}) =>
    pendingOf(() => inBlocks(a, b, options)),
  derivative as DerivativeRule<readonly [BlockInput, BlockInput, BlockOptions?]>,
  ofRows as BatchRule,
);

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
 * With `devices`, `maxBytes` or `onProgress`, with rows of a file (`openNpy`) or with an `out` in host memory (a Float32Array or Float64Array, `{ data,
 * shape }` with one, or a destination such as `npyOutput(path)` of `@mercer/tensor/npy`) it is computed block by block, on one device or on
 * several: blocks of rows arrive while others are computed, and the results go home. Inputs lie in host memory or on one of the devices. It
 * resolves when everything is there, with `out` or a tensor on the first device. A file is written whole or not at all; a call that ends early leaves
 * some blocks in an array or a tensor that was given. Gradients of it are computed in
 * blocks too; there are none of rows of a file, of an `out` and of second order.
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
export const cdist: Cdist = Object.assign(
  ((a: BlockInput, b: BlockInput, options?: BlockOptions) => {
    if (!isBlocked([a, b], options)) {
      return inMemory(a as PairwiseInput, b as PairwiseInput, options as CdistOptions);
    }
    refuseTracedOut('cdist', [a, b], options);
    return blocked(a, b, options);
  }) as unknown as Cdist,
  { prepare: inMemory.prepare },
);
