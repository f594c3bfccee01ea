export { emitRows } from './emit-rows.js';
export { emitRowsGradient, planRowsGradient } from './rows-gradient.js';
export { planRows, type RowsPlan } from './rows-plan.js';
export type { RowsProblem } from './rows-plan.js';
