import { LazyReducible, type AxisOrDim } from './lazy-reducible.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyAxis, ReduceOptions, ResultOf } from './reduction-types.js';

/** Smallest and largest values of a matrix that is never stored, and where they are. */
export abstract class LazyExtrema<D extends LazyDType = LazyDType> extends LazyReducible<D> {
  /** The smallest component, or the smallest values over a side; NaN where there is one. */
  min(axis?: 'dim'): this;
  min(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Min', D>>): Promise<ResultOf<'Min', D>>;
  min(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'Min', D>> = {},
  ): this | Promise<ResultOf<'Min', D>> {
    return this.either('min', 'Min', axis, options);
  }

  /** The largest component, or the largest values over a side; NaN where there is one. */
  max(axis?: 'dim'): this;
  max(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Max', D>>): Promise<ResultOf<'Max', D>>;
  max(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'Max', D>> = {},
  ): this | Promise<ResultOf<'Max', D>> {
    return this.either('max', 'Max', axis, options);
  }

  /** The index of the first smallest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMin(axis?: 'dim'): this;
  argMin(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'ArgMin', D>>,
  ): Promise<ResultOf<'ArgMin', D>>;
  argMin(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'ArgMin', D>> = {},
  ): this | Promise<ResultOf<'ArgMin', D>> {
    return this.either('argMin', 'ArgMin', axis, options);
  }

  /** The index of the first largest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMax(axis?: 'dim'): this;
  argMax(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'ArgMax', D>>,
  ): Promise<ResultOf<'ArgMax', D>>;
  argMax(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'ArgMax', D>> = {},
  ): this | Promise<ResultOf<'ArgMax', D>> {
    return this.either('argMax', 'ArgMax', axis, options);
  }

  /** The smallest values over a side, and the row numbers of the first of them. */
  minArgMin(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'MinArgMin', D>> = {},
  ): Promise<ResultOf<'MinArgMin', D>> {
    return this.reduce('minArgMin', 'MinArgMin', axis, options);
  }

  /** The largest values over a side, and the row numbers of the first of them. */
  maxArgMax(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'MaxArgMax', D>> = {},
  ): Promise<ResultOf<'MaxArgMax', D>> {
    return this.reduce('maxArgMax', 'MaxArgMax', axis, options);
  }

  /** The k smallest values over a side, ascending: (..batch, rows, k * dim), the smallest of all components first. NaN comes last, +inf where there are fewer rows. */
  kMin(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMin', D>> = {},
  ): Promise<ResultOf<'KMin', D>> {
    return this.reduce('kMin', 'KMin', axis, { ...options, k });
  }

  /** The row numbers of the k smallest values over a side, int32: (..batch, rows, k * dim), -1 where there are fewer rows. */
  argKMin(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'ArgKMin', D>> = {},
  ): Promise<ResultOf<'ArgKMin', D>> {
    return this.reduce('argKMin', 'ArgKMin', axis, { ...options, k });
  }

  /** The k smallest values over a side and their row numbers. */
  kMinArgKMin(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMinArgKMin', D>> = {},
  ): Promise<ResultOf<'KMinArgKMin', D>> {
    return this.reduce('kMinArgKMin', 'KMinArgKMin', axis, { ...options, k });
  }

  /** The k largest values over a side, descending: (..batch, rows, k * dim). NaN comes last, -inf where there are fewer rows. */
  kMax(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMax', D>> = {},
  ): Promise<ResultOf<'KMax', D>> {
    return this.reduce('kMax', 'KMax', axis, { ...options, k });
  }

  /** The row numbers of the k largest values over a side, int32. */
  argKMax(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'ArgKMax', D>> = {},
  ): Promise<ResultOf<'ArgKMax', D>> {
    return this.reduce('argKMax', 'ArgKMax', axis, { ...options, k });
  }

  /** The k largest values over a side and their row numbers. */
  kMaxArgKMax(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMaxArgKMax', D>> = {},
  ): Promise<ResultOf<'KMaxArgKMax', D>> {
    return this.reduce('kMaxArgKMax', 'KMaxArgKMax', axis, { ...options, k });
  }
}
