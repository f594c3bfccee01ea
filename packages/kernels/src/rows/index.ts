export { emitRows } from './emit-rows.js';
export { emitRowsGradient, planRowsGradient } from './rows-gradient.js';
export { planRows, type RowsPlan } from './plan-rows.js';
export type { RowsProblem } from './plan-rows.js';
