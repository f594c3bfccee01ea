// Kernels that stand for every plan of every family, for the tests of other packages and for the report of what ran on a GPU.
export { defaultElementwisePlans } from '../dist/elementwise/default-elementwise.test-support.js';
export { defaultKernels } from '../dist/default-kernels.test-support.js';
