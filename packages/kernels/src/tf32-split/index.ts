export { defaultTf32SplitKernels } from './default-tf32-split.js';
export { emitTf32Split, type Tf32SplitStep } from './emit-tf32-split.js';
