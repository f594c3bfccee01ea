import type { Category } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import type { RowReader, Tensor, TensorSource } from '@mercer/tensor';
import { readOptions } from './call-options.js';
import { nodeAt, type Input } from './input.js';
import type { ComputedIn, LazyDType, StoredDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { LazyTensor } from './lazy-tensor.js';
import {
  isPlaceholder,
  matrixInput,
  pairInput,
  parameterInput,
  placeholderInput,
  shapedInput,
  type Placeholder,
} from './make-input.js';

/** Options of `lazyI`, `lazyJ`, `param` and `lazy`. */
export interface LazyOptions {
  /** How messages and printed formulas call the variable. */
  readonly name?: string | undefined;
}

/** What a variable of data S is computed in: where the data is no tensor, the dtype of the others. */
export type ComputedOf<S> =
  S extends Tensor<infer D extends StoredDType> ? ComputedIn<D> : LazyDType;

const LAZY_OPTIONS: OptionNames<LazyOptions> = { name: true };

const readLazyOptions = readOptions.of(LAZY_OPTIONS);

/**
 * A variable with a row of `dim` numbers for every i, (..batch, M, dim). Batch axes broadcast. Data is borrowed: a tensor must
 * be alive when a reduction runs; nested and typed arrays are placed anew by every reduction, and the rows of a file (`openNpy`) are read
 * block by block.
 *
 * @param data float32 or float64; float16 and bfloat16 count as float32; nested numbers take the dtype of the other variables
 * @throws MercerError SHAPE_MISMATCH (fewer than two axes, rows without components), DTYPE_MISMATCH
 */
export function lazyI<S extends Tensor<StoredDType> | TensorSource | RowReader | Placeholder>(
  data: S,
  options?: LazyOptions,
): LazyTensor<ComputedOf<S>> {
  const { name } = readLazyOptions('lazyI', options);
  if (isPlaceholder(data)) return later('lazyI', 'i', data, name);
  return wrap('lazyI', matrixInput('lazyI', data, 'i', name));
}

/** The same with a row for every j, (..batch, N, dim). */
export function lazyJ<S extends Tensor<StoredDType> | TensorSource | RowReader | Placeholder>(
  data: S,
  options?: LazyOptions,
): LazyTensor<ComputedOf<S>> {
  const { name } = readLazyOptions('lazyJ', options);
  if (isPlaceholder(data)) return later('lazyJ', 'j', data, name);
  return wrap('lazyJ', matrixInput('lazyJ', data, 'j', name));
}

/** Options of `lazyPair`. */
export interface PairOptions extends LazyOptions {
  /** The last axis has the components of a pair: (..batch, M, N, dim). Default false: (..batch, M, N), a number for each pair. */
  readonly components?: boolean | undefined;
}

const PAIR_OPTIONS: OptionNames<PairOptions> = { ...LAZY_OPTIONS, components: true };

/**
 * A stored matrix as a variable: a number for every pair of a row i and a row j, (..batch, M, N), or several, (..batch, M, N, dim)
 * with `components`. Masks of 0 and 1, precomputed distances and gradients from outside are read where they lie, whatever the
 * strides of M and N are. Batch axes broadcast. Data is borrowed as by `lazyI`.
 *
 * M and N are those of the i- and j-variables it is combined with. `t()` exchanges them. The gradient by it is dense: a number
 * for each of its own, which nothing is summed over but broadcast batch axes.
 *
 * @param data as of `lazyI`; a placeholder of dim 1 takes (..batch, M, N), one of more (..batch, M, N, dim)
 * @throws MercerError SHAPE_MISMATCH (fewer than two axes, three with `components`), DTYPE_MISMATCH; LazyError INVALID_ARGUMENT
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ, lazyPair } from '@mercer/lazy';
 *
 * const [x, y] = [lazyI([[0], [1]]), lazyJ([[0], [1], [3]])];
 * const mask = lazyPair([[1, 0, 1], [0, 1, 1]]);
 * const sums = await x.sqdist(y).mul(mask).sum('j', { device: 'cpu' });
 * console.log(await sums.toNested()); // [ [ 9 ], [ 4 ] ]
 * ```
 */
export function lazyPair<S extends Tensor<StoredDType> | TensorSource | RowReader | Placeholder>(
  data: S,
  options?: PairOptions,
): LazyTensor<ComputedOf<S>> {
  const { name, components = false } = readOptions('lazyPair', options, PAIR_OPTIONS);
  if (typeof components !== 'boolean') {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `lazyPair: components is ${describeValue(components)}. Pass true where the last axis has the components of a pair, else leave it out.`,
    );
  }
  if (!isPlaceholder(data)) {
    return wrap('lazyPair', pairInput('lazyPair', data, components, name));
  }
  if (components && data.dim === 1) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      'lazyPair: a placeholder of dim 1 takes (..batch, M, N), without an axis of components. Leave components out.',
    );
  }
  return later('lazyPair', 'pair', data, name);
}

/**
 * One vector for all rows: (dim) or (..batch, dim); a number is a vector of one. Unlike a number in a formula, another value
 * needs no other kernel.
 *
 * @throws MercerError as `lazyI`
 */
export function param<S extends Tensor<StoredDType> | TensorSource | RowReader | Placeholder>(
  data: S,
  options?: LazyOptions,
): LazyTensor<ComputedOf<S>> {
  const { name } = readLazyOptions('param', options);
  if (isPlaceholder(data)) return later('param', 'parameter', data, name);
  return wrap('param', parameterInput('param', data, name));
}

/**
 * A variable from data of three axes or more, by where its 1 is: (.., M, 1, D) has rows of i, (.., 1, N, D) rows of j,
 * (.., 1, 1, D) is a parameter. With an axis, `lazy(data, axis, options)`, as `lazyI` or `lazyJ`; without one the options stand
 * behind the data.
 *
 * @throws MercerError SHAPE_MISMATCH for a dense array, DTYPE_MISMATCH; LazyError INVALID_ARGUMENT (axis, options)
 *
 * @example
 * ```ts
 * import { lazy } from '@mercer/lazy';
 *
 * const x = lazy([[[0]], [[1]]], { name: 'x' }); // (2, 1, 1): two rows of i
 * const y = lazy([[5], [7]], 'j', { name: 'y' });
 * console.log(await (await x.sub(y).sum('j', { device: 'cpu' })).toNested()); // [ [ -12 ], [ -10 ] ]
 * ```
 */
export function lazy<S extends Tensor<StoredDType> | TensorSource | RowReader>(
  data: S,
  axis?: 'i' | 'j' | LazyOptions,
  options?: LazyOptions,
): LazyTensor<ComputedOf<S>> {
  const [side, given] = axisAndOptions(axis, options);
  const { name } = readLazyOptions('lazy', given);
  const input =
    side === undefined ? shapedInput('lazy', data, name) : matrixInput('lazy', data, side, name);
  return wrap('lazy', input);
}

function axisAndOptions(
  axis: 'i' | 'j' | LazyOptions | undefined,
  options: LazyOptions | undefined,
): readonly [axis: 'i' | 'j' | undefined, options: LazyOptions | undefined] {
  if (axis === undefined || axis === 'i' || axis === 'j') return [axis, options];
  if (typeof axis === 'object' && options === undefined) return [undefined, axis];
  throw new LazyError(
    'INVALID_ARGUMENT',
    `lazy: the axis is ${describeValue(axis)}. Pass 'i' or 'j', as in lazy(data, 'i', options), or leave the axis out: the options follow the data then.`,
  );
}

function wrap(what: string, input: Input): LazyTensor<never> {
  return new LazyTensor(what, { formula: nodeAt(input, 0), inputs: Object.freeze([input]) });
}

function later(
  what: string,
  category: Category,
  { position, dim }: Placeholder,
  name: string | undefined,
): LazyTensor<never> {
  return wrap(what, placeholderInput(what, category, position, dim, name));
}
