export { emitTotals, totalsBlocks } from './cuda-totals.js';
export { mostRuns, planTotals, type TotalsProblem } from './plan-totals.js';
