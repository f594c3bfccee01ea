export { emitTotals, totalsBlocks } from './cuda-totals.js';
export {
  mostRuns,
  planTotals,
  type PlannedTotals,
  type TotalsPlan,
  type TotalsProblem,
} from './totals-plan.js';
