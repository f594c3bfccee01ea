import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { checkAxis } from '../arithmetic/axes.js';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { memoryAmong, Turn } from '../call-order.js';
import { formatShape } from '../checked-size.js';
import { empty } from '../create.js';
import { takeAlongAxis } from '../indexing/take.js';
import { MercerError } from '../mercer-error.js';
import { CallSteps, type CallView } from '../operation/call-steps.js';
import { keyPart, only, Operation, prepareOne } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, pendingAfter, pendingCall, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import {
  SHAPING_OPTIONS,
  type PreparedShaping,
  type ShapingOptions,
} from '../shaping/shaping-options.js';
import { assertTensor, isTensor, isUsable, OUT_OPTION, Tensor, type OutOption } from '../tensor.js';
import { checkOut } from '../tensor-checks.js';
import { alongAxis } from '../trace/batching.js';
import { differentiable } from '../trace/differentiable.js';
import type { KnownValue } from '../trace/primitive.js';
import { isTraced, promisesTraced } from '../trace/traced-value.js';
import { addBitonicSort } from './bitonic-steps.js';
import { addRadixSort } from './along-rows.js';
import { lastAxis } from './last-axis.js';

/** Options of {@link sort} and {@link argSort}. */
export interface SortOptions<D extends DType = DType> extends ShapingOptions<D> {
  /** The largest first. NaN comes last and equal elements keep their order all the same. Default: false. */
  readonly descending?: boolean | undefined;
}

const SORT_OPTIONS: OptionNames<SortOptions> = { ...SHAPING_OPTIONS, descending: true };

/** Elements that can be sorted along an axis: rows are filled up to a power of two that int32 counts. */
const MOST_SORTED = 2 ** 30;

/** @throws MercerError INVALID_ARGUMENT */
function checkSorted(what: string, shape: readonly number[], axis: number): number {
  if (shape.length === 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: x has no axis to sort along. Call reshape([1]) first.`,
    );
  }
  const at = checkAxis(what, axis, shape.length, `shape ${formatShape(shape)}`);
  const extent = shape[at] ?? 0;
  if (extent <= MOST_SORTED) return at;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: axis ${at} has ${extent} elements, at most ${MOST_SORTED} are sorted. Sort parts of it.`,
  );
}

/** The high and the low words of int64 on a GPU, whose formulas have no number for each of them; nothing for others. */
function wordsOf(x: Tensor): readonly Tensor<'int32'>[] {
  if (!isTensor(x) || !isUsable(x) || x.dtype !== 'int64' || x.device.kind === 'cpu') return [];
  const { storage, shape, strides, offset } = x;
  const words = { shape, strides: strides.map((stride) => 2 * stride) };
  return [1, 0].map(
    (word) => new Tensor(storage.retain(), 'int32', { ...words, offset: 2 * offset + word }),
  );
}

type Arguments = readonly [x: Tensor, axis: number, words: readonly Tensor[]];

const operation = new Operation<Arguments, SortOptions>({
  what: 'argSort',
  options: SORT_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([x, axis, words], { out, descending }) => {
    const part = keyPart(descending);
    if (typeof axis !== 'number' || part === undefined) return undefined;
    return { key: `${axis} ${part}`, tensors: { inputs: [x, ...words], outs: [out] } };
  },
  plan: ([x, axis, words], { out, descending = false }) => {
    const what = 'argSort';
    assertTensor(x, `${what}: x`);
    if (typeof (descending as unknown) !== 'boolean') {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: descending is ${describeValue(descending)}. Pass true or false.`,
      );
    }
    const at = checkSorted(what, x.shape, axis);
    const { shape, device } = x;
    const dtype = 'int32';
    if (out !== undefined) checkOut(out, { shape, dtype, device }, [x], what);
    const tensors = { inputs: [x, ...words], outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.result({ shape, dtype });
    const input = (place: number): CallView => lastAxis(steps.input(place), at);
    if (x.size === 0) return { tensors, steps };
    if (device.kind === 'cpu') addRadixSort(steps, input(0), lastAxis(to, at), descending);
    else {
      const keys = words.length === 0 ? ([input(0)] as const) : ([input(1), input(2)] as const);
      steps.copy(addBitonicSort(steps, keys, descending), lastAxis(to, at));
    }
    return { tensors, steps };
  },
});

/** How {@link argSort} is called. */
export interface ArgSort {
  <D extends DType>(
    x: TensorOperand<D>,
    axis?: number,
    options?: SortOptions<'int32'>,
  ): Pending<Tensor<'int32'>>;
  /** Compiles for tensors like x, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    axis?: number,
    options?: SortOptions<'int32'>,
  ) => Promise<PreparedShaping<D, 'int32'>>;
}

async function prepareArgSort(
  example: Tensor,
  axis = -1,
  options?: SortOptions,
): Promise<PreparedShaping<DType, 'int32'>> {
  const words = wordsOf(example);
  try {
    const run = await prepareOne(operation, [example, axis, words], options);
    return (x, free) => {
      const own = wordsOf(x);
      try {
        return run([x, axis, own], free) as Tensor<'int32'>;
      } finally {
        for (const word of own) word.dispose();
      }
    };
  } finally {
    for (const word of words) word.dispose();
  }
}

/**
 * Where the elements come from once they are sorted along an axis, as numpy's argsort with `kind: 'stable'`: equal elements keep their
 * order, and NaN comes last. `takeAlongAxis(x, indices, axis)` is then sorted.
 *
 * A radix sort on a CPU. On a GPU a sorting network of log2(n) (log2(n) + 1) / 2 kernels on n elements filled up to a power of two.
 *
 * ```ts
 * import { argSort, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[3, 1, 2]], { device: 'cpu' });
 * console.log(await argSort(x).toNested()); // [ [ 1, 2, 0 ] ]
 * console.log(await x.argSort(1, { descending: true }).toNested()); // [ [ 0, 2, 1 ] ]
 *
 * const order = await argSort.prepare(x);
 * console.log(await order(x).toNested()); // [ [ 1, 2, 0 ] ]
 * ```
 *
 * @param x any dtype and strides, rank 1 or more, at most 2^30 elements along the axis
 * @param axis counted from the end where it is negative; default: the last
 * @returns int32 of x's shape; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED; with `out` also DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export const argSort: ArgSort = differentiable<ArgSort, readonly [x: KnownValue, axis?: number]>(
  'argSort',
  Object.assign(
    (x: unknown, axis = -1, options?: SortOptions): Pending<Tensor<'int32'>> =>
      pendingCall(async () => {
        const given = readOptions('argSort', options, SORT_OPTIONS);
        const words = wordsOf(x as Tensor);
        try {
          return only(await operation.call([x as Tensor, axis, words], given)) as Tensor<'int32'>;
        } finally {
          for (const word of words) word.dispose();
        }
      }),
    { prepare: prepareArgSort },
  ),
  'constant',
  alongAxis('argSort', -1),
  'one call',
);

/** Work of several calls in the place of one: nothing that they read is written before they have read it. */
async function inOneTurn<T>(
  reads: readonly unknown[],
  writes: readonly unknown[],
  work: (turn: Turn) => Promise<T>,
): Promise<T> {
  const turn = new Turn(memoryAmong(reads), memoryAmong(writes));
  try {
    return await work(turn);
  } finally {
    turn.end();
  }
}

/** The indices of a step, and what is made with them; they are disposed. */
export async function withOrder<T>(
  what: string,
  x: unknown,
  axis: number,
  { descending, ...options }: Omit<SortOptions, 'out'>,
  outs: readonly unknown[],
  use: (indices: Tensor<'int32'>, turn: Turn) => Promise<T>,
): Promise<T> {
  if (!isTraced(x)) assertTensor(x, `${what}: x`);
  const one = x as Tensor;
  checkSorted(what, one.shape, axis);
  return inOneTurn([x], outs, async (turn) => {
    const indices = await turn.run(() => argSort(one, axis, { ...options, descending }));
    try {
      return await use(indices, turn);
    } finally {
      indices.dispose();
    }
  });
}

/** The indices of a step of a prepared call. @throws MercerError as the checks of `argSort`, by the caller's name */
export async function preparedOrder(
  what: string,
  x: Tensor,
  axis: number,
  options: Omit<SortOptions, 'out'>,
): Promise<PreparedShaping<DType, 'int32'>> {
  assertTensor(x, `${what}: x`);
  checkSorted(what, x.shape, axis);
  return argSort.prepare(x, axis, options);
}

/** How {@link sort} is called. */
export interface Sort {
  <D extends DType>(
    x: TensorOperand<D>,
    axis?: number,
    options?: SortOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /** Compiles for tensors like x, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    axis?: number,
    options?: SortOptions<NoInfer<D>>,
  ) => Promise<PreparedShaping<D>>;
}

/**
 * The elements in their order along an axis, as numpy's sort: ascending or, with `descending`, from the largest on; NaN last. The elements
 * themselves, bit by bit; gradients go to where they came from. See {@link argSort}.
 *
 * ```ts
 * import { sort, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[3, NaN, 1], [5, 4, 6]], { device: 'cpu' });
 * console.log(await sort(x).toNested()); // [ [ 1, 3, NaN ], [ 4, 5, 6 ] ]
 * console.log(await x.sort(0, { descending: true }).toNested()); // [ [ 5, 4, 6 ], [ 3, NaN, 1 ] ]
 *
 * const sorted = await sort.prepare(x);
 * console.log(await sorted(x).toNested()); // [ [ 1, 3, NaN ], [ 4, 5, 6 ] ]
 * ```
 *
 * @param x any dtype and strides, rank 1 or more, at most 2^30 elements along the axis
 * @param axis counted from the end where it is negative; default: the last
 * @returns of x's shape and dtype; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED; with `out` also DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export const sort: Sort = Object.assign(
  (x: unknown, axis = -1, options?: SortOptions): Pending<Tensor<never>> => {
    const call = async (): Promise<Tensor> => {
      heard([x]);
      const given = readOptions('sort', options, SORT_OPTIONS);
      const { out, descending, ...rest } = given;
      return whenArrived([x, given], async ([one]) =>
        withOrder('sort', one, axis, { ...rest, descending }, [out], async (indices, turn) =>
          turn.run(() => takeAlongAxis(one as Tensor, indices, axis, { ...rest, out })),
        ),
      );
    };
    const result = pendingAfter([x], call()) as Pending<Tensor<never>>;
    return isTraced(x) ? promisesTraced(result) : result;
  },
  {
    prepare: async (example: Tensor, axis = -1, options?: SortOptions) => {
      const { descending, ...given } = readOptions('sort.prepare', options, SORT_OPTIONS);
      const { out: _, ...rest } = given;
      const order = await preparedOrder('sort', example, axis, { ...rest, descending });
      using indices = empty(example.shape, { dtype: 'int32', device: example.device });
      const taken = await takeAlongAxis.prepare(example, indices, axis, given);
      return (x: Tensor, free?: OutOption): Tensor<never> => {
        assertTensor(x, 'sort: x');
        const { out: to, stream } = readOptions('sort', free, OUT_OPTION);
        if (to !== undefined) checkOut(to, x, [x], 'sort');
        using places = order(x, { stream });
        return taken(x, places, { out: to, stream }) as Tensor<never>;
      };
    },
  },
);

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The elements in their order along an axis: see {@link sort}. */
    sort(axis?: number, options?: SortOptions<NoInfer<D>>): Pending<Tensor<D>>;
    /** Where the elements come from once they are sorted along an axis: see {@link argSort}. */
    argSort(axis?: number, options?: SortOptions<'int32'>): Pending<Tensor<'int32'>>;
  }
}

attachMethods({ sort, argSort });
