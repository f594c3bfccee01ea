/**
 * What other packages of Mercer build with.
 *
 * @packageDocumentation
 */
export { kernelFormula, type KernelFormula } from './kernel-formula.js';
export { KERNEL_MATRIX_OPTIONS } from './run-kernel-options.js';
