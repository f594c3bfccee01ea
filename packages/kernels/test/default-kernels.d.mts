export { defaultElementwisePlans } from '../dist/elementwise/default-elementwise.test-support.js';
export { defaultKernels } from '../dist/default-kernels.test-support.js';
