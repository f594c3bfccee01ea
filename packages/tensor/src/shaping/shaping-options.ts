import type { OptionNames } from '@mercer/options';
import type { DType } from '@mercer/kernels';
import { LOAD_OPTIONS, type LoadOptions } from '../device.js';
import { OUT_OPTION, type OutOption } from '../tensor.js';

/** Options of operations that bring elements into another shape. */
export interface ShapingOptions<D extends DType = DType> extends OutOption<D>, LoadOptions {}

/** Names of {@link ShapingOptions}. */
export const SHAPING_OPTIONS: OptionNames<ShapingOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS };
