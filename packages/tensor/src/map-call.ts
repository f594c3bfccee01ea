import type { BoolExpr, Expr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import type { MapInputs, MapTensors } from './map-inputs.js';
import type { MapListInputs, MapListTensors } from './map-lists.js';
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

/** The dtypes of inputs, in lists or not; any where there are none. */
type DTypesOf<T extends MapListInputs> = [DTypeOf<T[keyof T]>] extends [never]
  ? DType
  : DTypeOf<T[keyof T]>;
type DTypeOf<V> = V extends readonly (infer One)[] ? OneDType<One> : OneDType<V>;
type OneDType<V> = Awaited<V> extends Tensor<infer D> ? D : never;

/** How {@link map} is called. */
export interface MapCall {
  <F extends MapFormulas, T extends MapInputs>(
    formulas: F,
    inputs: T,
    options?: SeveralMapOptions<keyof F & string>,
  ): Promise<MapResults<F, DTypesOf<T>>>;
  <E extends Expr, T extends MapInputs, R extends DType = ResultOf<E, DTypesOf<T>>>(
    expr: E,
    inputs: T,
    options?: MapOptions<R>,
  ): Pending<Tensor<R>>;
  <F extends MapFormulas, T extends MapListInputs>(
    formulas: F,
    inputs: T,
    options?: SeveralListMapOptions<keyof F & string>,
  ): Promise<MapListResults<F, DTypesOf<T>>>;
  <E extends Expr, T extends MapListInputs, R extends DType = ResultOf<E, DTypesOf<T>>>(
    expr: E,
    inputs: T,
    options?: ListMapOptions<R>,
  ): Promise<readonly Tensor<R>[]>;
  readonly prepare: MapPrepare;
}

/** How `map.prepare` is called. */
export interface MapPrepare {
  <F extends MapFormulas, I extends DType>(
    formulas: F,
    inputs: MapTensors<I>,
    options?: SeveralMapOptions<keyof F & string>,
  ): Promise<
    (
      inputs: MapTensors<I>,
      options?: Pick<SeveralMapOptions<keyof F & string>, 'out' | 'stream' | 'parameters'>,
    ) => MapResults<F, I>
  >;
  /**
   * Compiles for inputs like these and gives a synchronous function, for all sizes and layouts with the same kernel. Its parameters
   * are those given here, or those of each call. `out` is an example; each call names its own `out` and `stream`.
   */
  <E extends Expr, I extends DType, R extends DType = ResultOf<E, I>>(
    expr: E,
    inputs: MapTensors<I>,
    options?: MapOptions<R>,
  ): Promise<(inputs: MapTensors<I>, options?: PreparedMapOptions<R>) => Tensor<R>>;
  <F extends MapFormulas, I extends DType>(
    formulas: F,
    inputs: MapListTensors<I>,
    options?: SeveralListMapOptions<keyof F & string>,
  ): Promise<
    (
      inputs: MapListTensors<I>,
      options?: Pick<SeveralListMapOptions<keyof F & string>, 'out' | 'stream' | 'parameters'>,
    ) => MapListResults<F, I>
  >;
  <E extends Expr, I extends DType, R extends DType = ResultOf<E, I>>(
    expr: E,
    inputs: MapListTensors<I>,
    options?: ListMapOptions<R>,
  ): Promise<
    (
      inputs: MapListTensors<I>,
      options?: Pick<ListMapOptions<R>, 'out' | 'stream' | 'parameters'>,
    ) => readonly Tensor<R>[]
  >;
}
