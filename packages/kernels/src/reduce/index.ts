export { cpuReduceKernel, reducedDType } from './cpu-reduce.js';
export { emitReduce } from './cuda-reduce.js';
export {
  planReduce,
  type PlannedReduce,
  type ReduceInput,
  type ReduceKind,
  type ReducePlan,
  type ReduceProblem,
} from './reduce-plan.js';
