export { defaultMapReduceKernels } from './default-map-reduce.js';
export { emitMapReduce } from './emit.js';
export { MAP_REDUCE_LIMITS } from './limits.js';
export { mapReduceParams } from './params.js';
export {
  planMapReduce,
  type CpuMapReducePlan,
  type CudaMapReducePlan,
  type MapReduceInput,
  type MapReducePlan,
} from './plan.js';
export type { MapReduceProblem } from './problem.js';
