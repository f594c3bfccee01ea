/** In the place of products by cuBLASLt. */
export { noCuda as productsRoutine } from '@mercer/options/browser';
