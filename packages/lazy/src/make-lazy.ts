import type { Category } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import type { Tensor, TensorSource } from '@mercer/tensor';
import { readOptions } from './call-options.js';
import { nodeAt, type Input } from './input.js';
import type { ComputedIn, StoredDType } from './lazy-dtype.js';
import { LazyTensor } from './lazy-tensor.js';
import {
  isPlaceholder,
  matrixInput,
  parameterInput,
  placeholderInput,
  shapedInput,
  type LazyData,
  type Placeholder,
} from './make-input.js';

/** Options of `lazyI`, `lazyJ`, `param` and `lazy`. */
export interface LazyOptions {
  /** How messages and printed formulas call the variable. */
  readonly name?: string | undefined;
}

const LAZY_OPTIONS: OptionNames<LazyOptions> = { name: true };

/**
 * A variable with a row of `dim` numbers for every i, (..batch, M, dim). Batch axes broadcast. Data is borrowed: a tensor must
 * be alive when a reduction runs; nested and typed arrays are placed anew by every reduction.
 *
 * @param data float32 or float64; float16 and bfloat16 count as float32; nested numbers take the dtype of the other variables
 * @throws MercerError SHAPE_MISMATCH (fewer than two axes, rows without components), DTYPE_MISMATCH
 */
export function lazyI<D extends StoredDType>(
  data: Tensor<D>,
  options?: LazyOptions,
): LazyTensor<ComputedIn<D>>;
export function lazyI(data: TensorSource | Placeholder, options?: LazyOptions): LazyTensor;
export function lazyI(data: LazyData | Placeholder, options?: LazyOptions): LazyTensor {
  const { name } = readOptions('lazyI', options, LAZY_OPTIONS);
  if (isPlaceholder(data)) return later('lazyI', 'i', data, name);
  return wrap('lazyI', matrixInput('lazyI', data, 'i', name));
}

/** The same with a row for every j, (..batch, N, dim). */
export function lazyJ<D extends StoredDType>(
  data: Tensor<D>,
  options?: LazyOptions,
): LazyTensor<ComputedIn<D>>;
export function lazyJ(data: TensorSource | Placeholder, options?: LazyOptions): LazyTensor;
export function lazyJ(data: LazyData | Placeholder, options?: LazyOptions): LazyTensor {
  const { name } = readOptions('lazyJ', options, LAZY_OPTIONS);
  if (isPlaceholder(data)) return later('lazyJ', 'j', data, name);
  return wrap('lazyJ', matrixInput('lazyJ', data, 'j', name));
}

/**
 * One vector for all rows: (dim) or (..batch, dim); a number is a vector of one. Unlike a number in a formula, another value
 * needs no other kernel.
 *
 * @throws MercerError as `lazyI`
 */
export function param<D extends StoredDType>(
  data: Tensor<D>,
  options?: LazyOptions,
): LazyTensor<ComputedIn<D>>;
export function param(data: TensorSource | Placeholder, options?: LazyOptions): LazyTensor;
export function param(data: LazyData | Placeholder, options?: LazyOptions): LazyTensor {
  const { name } = readOptions('param', options, LAZY_OPTIONS);
  if (isPlaceholder(data)) return later('param', 'parameter', data, name);
  return wrap('param', parameterInput('param', data, name));
}

/**
 * A variable from data of three axes or more, by where its 1 is: (.., M, 1, D) has rows of i, (.., 1, N, D) rows of j,
 * (.., 1, 1, D) is a parameter. With an axis, as `lazyI` or `lazyJ`.
 *
 * @throws MercerError SHAPE_MISMATCH for a dense array, DTYPE_MISMATCH
 */
export function lazy<D extends StoredDType>(
  data: Tensor<D>,
  axis?: 'i' | 'j',
  options?: LazyOptions,
): LazyTensor<ComputedIn<D>>;
export function lazy(data: TensorSource, axis?: 'i' | 'j', options?: LazyOptions): LazyTensor;
export function lazy(data: LazyData, axis?: 'i' | 'j', options?: LazyOptions): LazyTensor {
  const { name } = readOptions('lazy', options, LAZY_OPTIONS);
  const input =
    axis === undefined ? shapedInput('lazy', data, name) : matrixInput('lazy', data, axis, name);
  return wrap('lazy', input);
}

function wrap(what: string, input: Input): LazyTensor {
  return new LazyTensor(what, { formula: nodeAt(input, 0), inputs: [input] });
}

function later(
  what: string,
  category: Category,
  { position, dim }: Placeholder,
  name: string | undefined,
): LazyTensor {
  return wrap(what, placeholderInput(what, category, position, dim, name));
}
