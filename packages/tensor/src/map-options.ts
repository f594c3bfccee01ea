import type { Expr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { OUT_OPTION, type OutOption, type Tensor } from './tensor.js';

/** Options of `map`. */
export interface MapOptions<D extends DType = DType> extends OutOption<D>, LoadOptions {
  /**
   * Takes the result: any strides, a shape to which the inputs broadcast. It may be the memory of an input that has the
   * same dtype, shape and strides; other memory of the inputs is refused.
   */
  readonly out?: Tensor<D> | undefined;
  /**
   * Of the result, converted as `cast` does. Default: that of `out`; else bool for a comparison, float64 where an input
   * is float64, and float32 for all others.
   */
  readonly dtype?: D | undefined;
  /** Numbers by the names of the variables that they are; another number needs no other kernel. */
  readonly parameters?: Readonly<Record<string, number>> | undefined;
  /** Variables that are the position along an axis of the result, by name: `{ row: -2, column: -1 }`. */
  readonly indices?: Readonly<Record<string, number>> | undefined;
}

/** Formulas of several results by the names of the results. */
export type MapFormulas = Readonly<Record<string, Expr>>;

/** Options of `map` with several results. */
export interface SeveralMapOptions<K extends string = string>
  extends Omit<OutOption, 'out'>, LoadOptions, Pick<MapOptions, 'parameters' | 'indices'> {
  /** Takes results by name, each as `out` takes the only one; others are allocated. They are of one shape. */
  readonly out?: { readonly [N in K]?: Tensor | undefined } | undefined;
  /** Of all results, or of those that are named. Default: as with one result. */
  readonly dtype?: DType | { readonly [N in K]?: DType | undefined } | undefined;
}

/** Options of `map` with lists of tensors, and one result for each of their places. */
export interface ListMapOptions<D extends DType = DType> extends Omit<MapOptions<D>, 'out'> {
  /** Takes the results, one for each place of the lists. */
  readonly out?: readonly Tensor<D>[] | undefined;
}

/** Options of `map` with lists of tensors, and several results for each of their places. */
export interface SeveralListMapOptions<K extends string = string> extends Omit<
  SeveralMapOptions<K>,
  'out'
> {
  /** Takes results by name, lists of them; others are allocated. */
  readonly out?: { readonly [N in K]?: readonly Tensor[] | undefined } | undefined;
}

/** Names of {@link MapOptions}. */
export const MAP_OPTIONS: OptionNames<MapOptions> = {
  ...OUT_OPTION,
  ...LOAD_OPTIONS,
  dtype: true,
  parameters: true,
  indices: true,
};

/** Options of a prepared map: the others are fixed. */
export interface PreparedMapOptions<D extends DType = DType>
  extends OutOption<D>, Pick<MapOptions, 'parameters'> {}

/** Names of {@link PreparedMapOptions}. */
export const PREPARED_MAP_OPTIONS: OptionNames<PreparedMapOptions> = {
  ...OUT_OPTION,
  parameters: true,
};
