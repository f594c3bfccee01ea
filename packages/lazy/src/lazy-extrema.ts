import {
  LazyReducible,
  type AxisOrDim,
  type OverAxis,
  type OverAxisOptions,
} from './lazy-reducible.js';
import type { LazyDType } from './lazy-dtype.js';
import type { Tensor } from '@mercer/tensor';
import type {
  CallReduceOptions,
  IndexDType,
  LazyAxis,
  ReduceOptions,
  ResultOf,
} from './reduction-types.js';

/** Smallest and largest values of a matrix that is never stored, and where they are. */
export abstract class LazyExtrema<D extends LazyDType = LazyDType> extends LazyReducible<D> {
  /** The smallest component, or the smallest values over a side; NaN where there is one. */
  min<A extends AxisOrDim = 'dim'>(
    axis?: A,
    options?: OverAxisOptions<A, ReduceOptions<ResultOf<'Min', D>>>,
  ): OverAxis<A, this, ResultOf<'Min', D>> {
    return this.either('min', 'Min', axis, options);
  }

  /** The largest component, or the largest values over a side; NaN where there is one. */
  max<A extends AxisOrDim = 'dim'>(
    axis?: A,
    options?: OverAxisOptions<A, ReduceOptions<ResultOf<'Max', D>>>,
  ): OverAxis<A, this, ResultOf<'Max', D>> {
    return this.either('max', 'Max', axis, options);
  }

  /** The index of the first smallest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMin<A extends AxisOrDim = 'dim', I extends IndexDType = 'int32'>(
    axis?: A,
    options?: OverAxisOptions<A, CallReduceOptions<'ArgMin', D, I>>,
  ): OverAxis<A, this, Tensor<I>> {
    return this.either('argMin', 'ArgMin', axis, options);
  }

  /** The index of the first largest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMax<A extends AxisOrDim = 'dim', I extends IndexDType = 'int32'>(
    axis?: A,
    options?: OverAxisOptions<A, CallReduceOptions<'ArgMax', D, I>>,
  ): OverAxis<A, this, Tensor<I>> {
    return this.either('argMax', 'ArgMax', axis, options);
  }

  /** The smallest values over a side, and the row numbers of the first of them. */
  minArgMin<I extends IndexDType = 'int32'>(
    axis: LazyAxis,
    options?: CallReduceOptions<'MinArgMin', D, I>,
  ): Promise<ResultOf<'MinArgMin', D, I>> {
    return this.reduce('minArgMin', 'MinArgMin', axis, options);
  }

  /** The largest values over a side, and the row numbers of the first of them. */
  maxArgMax<I extends IndexDType = 'int32'>(
    axis: LazyAxis,
    options?: CallReduceOptions<'MaxArgMax', D, I>,
  ): Promise<ResultOf<'MaxArgMax', D, I>> {
    return this.reduce('maxArgMax', 'MaxArgMax', axis, options);
  }

  /** The k smallest values over a side, ascending: (..batch, rows, k * dim), the smallest of all components first. NaN comes last, +inf where there are fewer rows. */
  kMin(
    k: number,
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'KMin', D>>,
  ): Promise<ResultOf<'KMin', D>> {
    return this.reduce('kMin', 'KMin', axis, options, { k });
  }

  /** The row numbers of the k smallest values over a side, int32: (..batch, rows, k * dim), -1 where there are fewer rows. */
  argKMin<I extends IndexDType = 'int32'>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'ArgKMin', D, I>,
  ): Promise<ResultOf<'ArgKMin', D, I>> {
    return this.reduce('argKMin', 'ArgKMin', axis, options, { k });
  }

  /** The k smallest values over a side and their row numbers. */
  kMinArgKMin<I extends IndexDType = 'int32'>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'KMinArgKMin', D, I>,
  ): Promise<ResultOf<'KMinArgKMin', D, I>> {
    return this.reduce('kMinArgKMin', 'KMinArgKMin', axis, options, { k });
  }

  /** The k largest values over a side, descending: (..batch, rows, k * dim). NaN comes last, -inf where there are fewer rows. */
  kMax(
    k: number,
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'KMax', D>>,
  ): Promise<ResultOf<'KMax', D>> {
    return this.reduce('kMax', 'KMax', axis, options, { k });
  }

  /** The row numbers of the k largest values over a side, int32. */
  argKMax<I extends IndexDType = 'int32'>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'ArgKMax', D, I>,
  ): Promise<ResultOf<'ArgKMax', D, I>> {
    return this.reduce('argKMax', 'ArgKMax', axis, options, { k });
  }

  /** The k largest values over a side and their row numbers. */
  kMaxArgKMax<I extends IndexDType = 'int32'>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'KMaxArgKMax', D, I>,
  ): Promise<ResultOf<'KMaxArgKMax', D, I>> {
    return this.reduce('kMaxArgKMax', 'KMaxArgKMax', axis, options, { k });
  }
}
