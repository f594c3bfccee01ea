export { emitCountRows, emitGatherRows, emitScatterAdd } from './emit-scatter.js';
export {
  countRowsScalars,
  planCountRows,
  planGatherRows,
  planScatterAdd,
  scatterAddScalars,
} from './plan-scatter.js';
export {
  MAX_INDEX_EXTENT,
  type CountRowsProblem,
  type GatherRowsProblem,
  type IndexDType,
  type ScatterAddProblem,
  type ScatterSizes,
} from './scatter-plan-types.js';
