export { emitTf32Split, type Tf32SplitStep } from './emit-tf32-split.js';
