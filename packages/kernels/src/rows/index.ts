export { emitRows } from './emit-rows.js';
export { rowsParams } from './rows-params.js';
export { planRows, type RowsPlan } from './rows-plan.js';
export type { RowsProblem } from './rows-problem.js';
