import type { DType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { attachMethods } from '../attach-methods.js';
import { memoryAmong, Turn } from '../call-order.js';
import { assertNotPreparing } from '../capture/refusals.js';
import { tensor } from '../create.js';
import { LOAD_OPTIONS, WORK_OPTIONS, type LoadOptions, type WorkOptions } from '../device.js';
import { take } from '../indexing/take.js';
import { heard, whenArrived } from '../pending.js';
import { readOptions } from '../read-options.js';
import { assertTensor, type Tensor } from '../tensor.js';
import { differentiable } from '../trace/differentiable.js';
import { isTraced } from '../trace/traced-value.js';
import { argSort } from './sort.js';

/** Options of {@link unique}. */
export interface UniqueOptions extends WorkOptions, LoadOptions {}

const UNIQUE_OPTIONS: OptionNames<UniqueOptions> = { ...WORK_OPTIONS, ...LOAD_OPTIONS };

/** What {@link unique} gives. */
export interface Unique<D extends DType> {
  /** Each value once, in order. */
  readonly values: Tensor<D>;
  /** Where each stands first in x, counted in row-major order. */
  readonly indices: Tensor<'int32'>;
  /** Of x's shape: which of the values each element is. `take(values, inverse)` is x. */
  readonly inverse: Tensor<'int32'>;
  /** How often each occurs. */
  readonly counts: Tensor<'int32'>;
}

/** Runs of equal elements of a sorted array. */
interface Runs {
  readonly indices: Int32Array;
  readonly inverse: Int32Array;
  readonly counts: Int32Array;
}

/** @param order where the sorted elements come from; the first of a run stands first */
function runsOf(sorted: ArrayLike<number | bigint>, order: Int32Array): Runs {
  const inverse = new Int32Array(order.length);
  const indices: number[] = [];
  const counts: number[] = [];
  for (let at = 0; at < order.length; at++) {
    const [one, before] = [sorted[at], sorted[at - 1]];
    const isSame = at > 0 && (one === before || (Number.isNaN(one) && Number.isNaN(before)));
    const place = order[at] ?? 0;
    if (!isSame) {
      indices.push(place);
      counts.push(0);
    }
    const run = indices.length - 1;
    counts[run] = (counts[run] ?? 0) + 1;
    inverse[place] = run;
  }
  return { indices: Int32Array.from(indices), inverse, counts: Int32Array.from(counts) };
}

async function found(x: Tensor, options: UniqueOptions): Promise<Unique<DType>> {
  if (!isTraced(x)) assertTensor(x, 'unique: x');
  assertNotPreparing('unique');
  const { stream, signal } = options;
  const turn = new Turn(memoryAmong([x]), []);
  const made: Tensor[] = [];
  const results: Tensor[] = [];
  const into =
    (list: Tensor[]) =>
    <T extends Tensor>(one: T): T => {
      list.push(one);
      return one;
    };
  const [kept, given] = [into(made), into(results)];
  try {
    const dense = kept(await turn.run(() => x.contiguous({ stream, signal })));
    const flat = kept(dense.reshape([-1]));
    const order = kept(await turn.run(() => argSort(flat, 0, options)));
    const sorted = kept(await turn.run(() => take(flat, order, 0, options)));
    const elements = await turn.run(() => sorted.toTypedArray({ stream, signal }));
    const places = await turn.run(() => order.toTypedArray({ stream, signal }));
    const runs = runsOf(elements, places);
    const placed = async (data: Int32Array, shape: readonly number[] = [data.length]) =>
      given(await tensor(data, { device: x.device, shape, stream, signal }));
    return {
      values: given(await turn.run(() => take(flat, runs.indices, 0, options))),
      indices: await placed(runs.indices),
      inverse: await placed(runs.inverse, x.shape),
      counts: await placed(runs.counts),
    };
  } catch (error) {
    for (const one of results) one.dispose();
    throw error;
  } finally {
    turn.end();
    for (const one of made) one.dispose();
  }
}

async function call(x: unknown, options?: UniqueOptions): Promise<Unique<DType>> {
  heard([x]);
  const given = readOptions('unique', options, UNIQUE_OPTIONS);
  return whenArrived([x, given], async ([one]) => found(one as Tensor, given));
}

/** How {@link unique} is called. */
export type UniqueCall = <D extends DType>(
  x: TensorOperand<D>,
  options?: UniqueOptions,
) => Promise<Unique<D>>;

/**
 * The values of a tensor, each once and in order, with where each stands first, which of them every element is, and how often each occurs; as
 * numpy's unique with `return_index`, `return_inverse` and `return_counts`. NaN is one value, and so are 0 and -0. Gradients of the values go to
 * where they stand first.
 *
 * The elements are sorted on the device (see `argSort`). How many values there are depends on them, so they are read back and the call waits for
 * the device.
 *
 * ```ts
 * import { tensor, unique } from '@mercer/tensor';
 *
 * const x = await tensor([[3, 1], [1, 7]], { device: 'cpu' });
 * const { values, counts, inverse } = await unique(x);
 * console.log(await values.toNested(), await counts.toNested()); // [ 1, 3, 7 ] [ 2, 1, 1 ]
 * console.log(await inverse.toNested()); // [ [ 1, 0 ], [ 0, 2 ] ]
 * ```
 *
 * @param x any dtype, rank and strides, at most 2^30 elements
 * @throws MercerError INVALID_ARGUMENT, DISPOSED, CAPTURED
 */
export const unique: UniqueCall = differentiable<
  UniqueCall,
  readonly [x: unknown, options?: UniqueOptions]
>('unique', call as UniqueCall, { composedOf: call });

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The values, each once and in order, with their places and counts: see {@link unique}. */
    unique(options?: UniqueOptions): Promise<Unique<D>>;
  }
}

attachMethods({ unique });
