export { cpuReduceKernel, reducedDType } from './reduce-cpu.js';
export { emitReduce } from './reduce-cuda.js';
export {
  planReduce,
  type PlannedReduce,
  type ReduceInput,
  type ReduceKind,
  type ReducePlan,
  type ReduceProblem,
} from './reduce-plan.js';
