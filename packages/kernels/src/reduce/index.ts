export { cpuReduceKernel, reducedDType } from './cpu-reduce.js';
export { emitReduce } from './cuda-reduce.js';
export {
  isSpread,
  MOST_SPREAD,
  planReduce,
  type BasicReduceKind,
  type ReduceInput,
  type ReduceKind,
  type ReduceProblem,
} from './plan-reduce.js';
