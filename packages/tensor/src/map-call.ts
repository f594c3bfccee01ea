import type { BoolExpr, Expr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import type { MapInputs } from './map-inputs.js';
import type { MapListInputs } from './map-lists.js';
import type {
  ListMapOptions,
  MapFormulas,
  MapOptions,
  PreparedMapOptions,
  SeveralListMapOptions,
  SeveralMapOptions,
} from './map-options.js';
import type { Pending } from './pending.js';
import type { Tensor } from './tensor.js';

/** The dtype of a map's result where nothing else is said. */
export type MapDType<I extends DType> = [I] extends ['float64']
  ? 'float64'
  : 'float64' extends I
    ? 'float32' | 'float64'
    : 'float32';

/** The dtype of a result where nothing else is said. */
type ResultOf<E extends Expr, I extends DType> = E extends BoolExpr ? 'bool' : MapDType<I>;

/** Results by the names of their formulas. */
export type MapResults<F extends MapFormulas, I extends DType = DType> = {
  readonly [K in keyof F]: Tensor<ResultOf<F[K], I>>;
};

/** Lists of results by the names of their formulas. */
export type MapListResults<F extends MapFormulas, I extends DType = DType> = {
  readonly [K in keyof F]: readonly Tensor<ResultOf<F[K], I>>[];
};

/** How {@link map} is called. */
export interface MapCall {
  <F extends MapFormulas, I extends DType>(
    formulas: F,
    inputs: MapInputs<I>,
    options?: SeveralMapOptions<keyof F & string>,
  ): Promise<MapResults<F, I>>;
  <E extends Expr, I extends DType, R extends DType = ResultOf<E, I>>(
    expr: E,
    inputs: MapInputs<I>,
    options?: MapOptions<R>,
  ): Pending<Tensor<R>>;
  <F extends MapFormulas, I extends DType>(
    formulas: F,
    inputs: MapListInputs<I>,
    options?: SeveralListMapOptions<keyof F & string>,
  ): Promise<MapListResults<F, I>>;
  <E extends Expr, I extends DType, R extends DType = ResultOf<E, I>>(
    expr: E,
    inputs: MapListInputs<I>,
    options?: ListMapOptions<R>,
  ): Promise<readonly Tensor<R>[]>;
  readonly prepare: MapPrepare;
}

/** How `map.prepare` is called. */
export interface MapPrepare {
  <F extends MapFormulas, I extends DType>(
    formulas: F,
    inputs: MapInputs<I>,
    options?: SeveralMapOptions<keyof F & string>,
  ): Promise<
    (
      inputs: MapInputs<I>,
      options?: Pick<SeveralMapOptions<keyof F & string>, 'out' | 'stream' | 'parameters'>,
    ) => MapResults<F, I>
  >;
  /**
   * Compiles for inputs like these and gives a synchronous function, for all sizes and layouts with the same kernel. Its parameters
   * are those given here, or those of each call. `out` is an example; each call names its own `out` and `stream`.
   */
  <E extends Expr, I extends DType, R extends DType = ResultOf<E, I>>(
    expr: E,
    inputs: MapInputs<I>,
    options?: MapOptions<R>,
  ): Promise<(inputs: MapInputs<I>, options?: PreparedMapOptions<R>) => Tensor<R>>;
  <F extends MapFormulas, I extends DType>(
    formulas: F,
    inputs: MapListInputs<I>,
    options?: SeveralListMapOptions<keyof F & string>,
  ): Promise<
    (
      inputs: MapListInputs<I>,
      options?: Pick<SeveralListMapOptions<keyof F & string>, 'out' | 'stream' | 'parameters'>,
    ) => MapListResults<F, I>
  >;
  <E extends Expr, I extends DType, R extends DType = ResultOf<E, I>>(
    expr: E,
    inputs: MapListInputs<I>,
    options?: ListMapOptions<R>,
  ): Promise<
    (
      inputs: MapListInputs<I>,
      options?: Pick<ListMapOptions<R>, 'out' | 'stream' | 'parameters'>,
    ) => readonly Tensor<R>[]
  >;
}
