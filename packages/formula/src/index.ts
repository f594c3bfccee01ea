export { constant } from './build.js';
export {
  abs,
  add,
  div,
  eq,
  exp,
  ge,
  gt,
  le,
  log,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  pow,
  rsqrt,
  select,
  sign,
  sqrt,
  sub,
  tanh,
  variable,
} from './constructors.js';
export { differentiate } from './differentiate.js';
export { evaluate } from './evaluate.js';
export type { BoolExpr, Expr, Operand, RealExpr } from './expr.js';
export { FormulaError, type FormulaErrorCode } from './formula-error.js';
export { isExpr } from './intern-table.js';
export { arityOf, call, FUNCTIONS } from './functions/call.js';
export type { MathOp } from './functions/math-ops.js';
export { print } from './print.js';
export { simplify, simplifyAll, type SimplifyOptions } from './simplify.js';
export { substitute } from './substitute.js';
export { variables } from './variables.js';
export * from './vector/index.js';
export * as ops from './vector/operations/index.js';
