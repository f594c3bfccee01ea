export { emitCountRows, emitGatherRows, emitScatterAdd } from './emit-scatter.js';
export {
  countRowsScalars,
  planCountRows,
  planGatherRows,
  planScatterAdd,
  scatterAddScalars,
  type CountRowsPlan,
  type GatherRowsPlan,
  type ScatterAddPlan,
} from './scatter-plan.js';
export {
  MAX_INDEX_EXTENT,
  type CountRowsProblem,
  type GatherRowsProblem,
  type IndexDType,
  type ScatterAddProblem,
  type ScatterSizes,
} from './scatter-problem.js';
