import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { checkAxis } from '../arithmetic/axes.js';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { empty } from '../create.js';
import {
  LOAD_OPTIONS,
  STREAM_OPTION,
  WORK_OPTIONS,
  type LoadOptions,
  type StreamOption,
  type WorkOptions,
} from '../device.js';
import { takeAlongAxis } from '../indexing/take.js';
import { MercerError } from '../mercer-error.js';
import { heard, whenArrived } from '../pending.js';
import { readOptions } from '../read-options.js';
import { concat } from '../shaping/join.js';
import { assertTensor, type Tensor } from '../tensor.js';
import { checkOut } from '../tensor-checks.js';
import { preparedOrder, withOrder } from './sort.js';

/** Where {@link topK} writes its results. */
export interface TopKOut<D extends DType = DType> {
  readonly values?: Tensor<D> | undefined;
  readonly indices?: Tensor<'int32'> | undefined;
}

/** Options of {@link topK}. */
export interface TopKOptions<D extends DType = DType> extends WorkOptions, LoadOptions {
  /** The largest elements, else the least. Default: true. */
  readonly largest?: boolean | undefined;
  /** Take the results: same shapes, dtypes and device, no memory shared with x or each other. Default: new tensors. */
  readonly out?: TopKOut<D> | undefined;
}

const TOP_K_OPTIONS: OptionNames<TopKOptions> = {
  ...WORK_OPTIONS,
  ...LOAD_OPTIONS,
  largest: true,
  out: true,
};

/** What {@link topK} gives. */
export interface TopK<D extends DType> {
  readonly values: Tensor<D>;
  /** Where they are along the axis. */
  readonly indices: Tensor<'int32'>;
}

/** Options of a prepared {@link topK}: the others are fixed. */
export interface TopKFree<D extends DType = DType> extends StreamOption {
  /** As {@link TopKOptions.out}, and they lie as those that the call was prepared for: row-major where it was given none. */
  readonly out?: TopKOut<D> | undefined;
}

const FREE_OPTIONS: OptionNames<TopKFree> = { ...STREAM_OPTION, out: true };

/** How {@link topK} is called. */
export interface TopKCall {
  <D extends DType>(
    x: TensorOperand<D>,
    k: number,
    axis?: number,
    options?: TopKOptions<NoInfer<D>>,
  ): Promise<TopK<D>>;
  /** Compiles for tensors like x, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    k: number,
    axis?: number,
    options?: TopKOptions<NoInfer<D>>,
  ) => Promise<(x: Tensor<D>, options?: TopKFree<D>) => TopK<D>>;
}

/** @throws MercerError INVALID_ARGUMENT */
function checkLargest(largest: boolean | undefined): boolean {
  if (largest === undefined || typeof (largest as unknown) === 'boolean') return largest ?? true;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `topK: largest is ${describeValue(largest)}. Pass true or false.`,
  );
}

type Outs = readonly [values: Tensor | undefined, indices: Tensor<'int32'> | undefined];

function outsOf(out: TopKOut | undefined): Outs {
  const { values, indices } = readOptions('topK: out', out, OUT_NAMES);
  return [values, indices];
}

const OUT_NAMES: OptionNames<TopKOut> = { values: true, indices: true };

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP */
function checkOuts(x: Tensor, shape: readonly number[], [values, indices]: Outs): void {
  const { dtype, device } = x;
  if (indices !== undefined) {
    checkOut(indices, { shape, dtype: 'int32', device }, [x], 'topK: indices');
  }
  if (values === undefined) return;
  const others = indices === undefined ? [x] : [x, indices];
  checkOut(values, { shape, dtype, device }, others, 'topK: values');
}

/** Results lie as those that a call was prepared for: row-major where it was given none. @throws MercerError INVALID_ARGUMENT */
function checkLayouts(outs: Outs, prepared: Outs): void {
  for (const [n, out] of outs.entries()) {
    const isRowMajor = prepared[n]?.isContiguous ?? true;
    if (out === undefined || out.isContiguous === isRowMajor) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `topK: ${out.label} is ${isRowMajor ? 'not ' : ''}row-major, and the call was prepared for a result that is${isRowMajor ? '' : ' not'}. Pass such a tensor, or prepare another with this one as out.`,
    );
  }
}

/** The first k along an axis: their shape, and as arguments of `slice`. @throws MercerError INVALID_ARGUMENT */
function firstOf(
  { rank, shape, label }: Tensor,
  k: number,
  axis: number,
): {
  readonly shape: readonly number[];
  readonly ranges: readonly (readonly [0, number] | null)[];
} {
  const at = checkAxis('topK', axis, rank, label);
  const extent = shape[at] ?? 0;
  if (Number.isInteger(k) && k >= 0 && k <= extent) {
    return { shape: shape.with(at, k), ranges: [...new Array<null>(at).fill(null), [0, k]] };
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `topK: k is ${describeValue(k)} for axis ${at} of ${label}. Pass an integer from 0 to ${extent}.`,
  );
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
 *
 * const top = await topK.prepare(x, 1);
 * console.log(await top(x).values.toNested()); // [ [ 3 ], [ 9 ] ]
 * ```
 *
 * @param x any dtype and strides, rank 1 or more, at most 2^30 elements along the axis
 * @param k from 0 to the elements of the axis
 * @param axis counted from the end where it is negative; default: the last
 * @returns two tensors of x's shape, with k elements along the axis; row-major, or those of `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED; with `out` also DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export const topK: TopKCall = Object.assign(
  async (x: unknown, k: number, axis = -1, options?: TopKOptions): Promise<TopK<never>> => {
    heard([x]);
    const given = readOptions('topK', options, TOP_K_OPTIONS);
    const { out, largest, ...rest } = given;
    const descending = checkLargest(largest);
    return whenArrived([x, given], async ([present]) => {
      const one = present as Tensor;
      const outs = outsOf(out);
      return withOrder('topK', one, axis, { ...rest, descending }, outs, async (order, turn) => {
        const first = firstOf(one, k, axis);
        checkOuts(one, first.shape, outs);
        const { stream, signal } = rest;
        const [toValues, toIndices] = outs;
        using places = order.slice(...first.ranges);
        const indices = await turn.run(() => places.clone({ out: toIndices, stream, signal }));
        try {
          const to = { ...rest, out: toValues };
          const values = await turn.run(() => takeAlongAxis(one, indices, axis, to));
          return { values, indices } as TopK<never>;
        } catch (error) {
          if (toIndices === undefined) indices.dispose();
          throw error;
        }
      });
    });
  },
  {
    prepare: async (example: Tensor, k: number, axis = -1, options?: TopKOptions) => {
      const { out, largest, ...rest } = readOptions('topK.prepare', options, TOP_K_OPTIONS);
      const descending = checkLargest(largest);
      const order = await preparedOrder('topK', example, axis, { ...rest, descending });
      const { shape, ranges } = firstOf(example, k, axis);
      const outs = outsOf(out);
      checkOuts(example, shape, outs);
      const like = { dtype: 'int32', device: example.device } as const;
      using indices = empty(shape, like);
      // the first k of all elements lie side by side, those of more do not
      const copy = await concat.prepare([indices], axis, rest);
      using more = empty(shape.with(ranges.length - 1, k + 1), like);
      using part = more.slice(...ranges);
      const copyPart = await concat.prepare([part], axis, rest);
      const [toValues, toIndices] = outs;
      const copyTo =
        toIndices === undefined
          ? copy
          : await concat.prepare([indices], axis, { ...rest, out: toIndices });
      const take = await takeAlongAxis.prepare(example, indices, axis, { ...rest, out: toValues });
      return (x: Tensor, free?: TopKFree): TopK<never> => {
        assertTensor(x, 'topK: x');
        const { out: given, stream } = readOptions('topK', free, FREE_OPTIONS);
        const to = outsOf(given);
        const own = firstOf(x, k, axis);
        checkOuts(x, own.shape, to);
        checkLayouts(to, outs);
        using sorted = order(x, { stream });
        using places = sorted.slice(...own.ranges);
        const indices = (places.isContiguous ? copy : copyPart)([places], { stream });
        try {
          const values = take(x, indices, { out: to[0], stream });
          if (to[1] === undefined) return { values, indices } as TopK<never>;
          // last: nothing is written where the others refuse
          copyTo([indices], { out: to[1], stream });
          indices.dispose();
          return { values, indices: to[1] } as TopK<never>;
        } catch (error) {
          indices.dispose();
          throw error;
        }
      };
    },
  },
);

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The k largest elements along an axis, and where they are: see {@link topK}. */
    topK(k: number, axis?: number, options?: TopKOptions<NoInfer<D>>): Promise<TopK<D>>;
  }
}

attachMethods({ topK });
