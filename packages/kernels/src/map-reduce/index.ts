export { emitMapReduce, emitMapReduceSteps } from './emit.js';
export type { MapReduceInput } from './launched-plan.js';
export type { MapReducePlan } from './plan-types.js';
export { planMapReduce, planMapReduceSteps } from './plan.js';
export { checkRanges } from './ranges/check-ranges.js';
export { pairsInRanges } from './ranges/ranges.js';
export { planRanges, planTasks } from './ranges/plan-ranges.js';
export {
  rangesFromMatrix,
  swapAxes,
  type KeptRanges,
  type Ranges,
  type RowRange,
} from './ranges/ranges.js';
export type { MapReduceProblem } from './problem.js';
export { emitSelection, emitSelectionCounts } from './selection/emit-selection.js';
export {
  planSelection,
  type SelectionPlan,
  type SelectionProblem,
} from './selection/plan-selection.js';
export { addsUp, aloneOf } from './plan-sums.js';
export { takesOnePass } from './choose-schedule.js';
