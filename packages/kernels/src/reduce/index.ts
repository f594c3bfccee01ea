export { cpuReduceKernel, reducedDType } from './cpu-reduce.js';
export { emitReduce } from './cuda-reduce.js';
export {
  planReduce,
  type ReduceInput,
  type ReduceKind,
  type ReduceProblem,
} from './reduce-plan.js';
