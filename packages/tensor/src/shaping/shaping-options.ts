import type { OptionNames } from '@mercer/options';
import type { DType } from '@mercer/kernels';
import { LOAD_OPTIONS, type LoadOptions } from '../device.js';
import { OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';

/** Options of operations that bring elements into another shape. */
export interface ShapingOptions<D extends DType = DType> extends OutOption<D>, LoadOptions {}

/** A prepared call on a tensor: its other arguments were fixed when it was prepared. */
export type PreparedShaping<D extends DType, R extends DType = D> = (
  x: Tensor<D>,
  options?: OutOption<R>,
) => Tensor<R>;

/** Names of {@link ShapingOptions}. */
export const SHAPING_OPTIONS: OptionNames<ShapingOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS };
