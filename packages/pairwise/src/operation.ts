/**
 * What other packages of Mercer build with.
 *
 * @packageDocumentation
 */
export { kernelFormula, type KernelFormula } from './kernel-formula.js';
