/**
 * Symbolic matrices that are never stored: formulas of rows of i and j, reduced over either side.
 *
 * @packageDocumentation
 */
export type { LazyDType } from './lazy-dtype.js';
export { LazyError, type LazyErrorCode } from './lazy-error.js';
export type { LazyData } from './make-input.js';
export { lazy, lazyI, lazyJ, param, type LazyOptions, type Placeholder } from './make-lazy.js';
export type { LazyFormula, LazyOperand } from './lazy-formula.js';
export { LazyReduction, type PreparedReduction } from './lazy-reduction.js';
export type { DescribeOptions } from './lazy-reductions.js';
export { LazyTensor } from './lazy-tensor.js';
export type { LazyAxis, ReduceOptions, ResultOf, ValuesAndIndices } from './reduction-types.js';
