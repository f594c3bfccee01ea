export { build, constant, isApplyOp, type ApplyOp } from './build.js';
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
export type { BoolExpr, CallNode, Expr, NodeOf, Operand, RealExpr } from './expr.js';
export { FormulaError, type FormulaErrorCode } from './formula-error.js';
export { internedCount, isExpr } from './intern-table.js';
export { OPS, SIGNATURES, type ExprType, type Op, type Signature } from './op.js';
export { arityOf, call, FUNCTIONS } from './functions/call.js';
export type { MathArity, MathOp } from './functions/math-ops.js';
export { isNonNegative } from './is-non-negative.js';
export { orderSteps, postOrder } from './post-order.js';
export { print } from './print.js';
export { applyRule, fold, type ArgResults, type Rule, type RuleTable } from './rule-table.js';
export { simplify, simplifyAll, simplifyAllSteps, type SimplifyOptions } from './simplify.js';
export { wendlandTerms, type WendlandTerm } from './functions/radial.js';
export { finish, isSteps, visitSteps, type Steps } from './steps.js';
export { substitute, withArgs } from './substitute.js';
export { variables, variablesOfAll, variablesSteps } from './variables.js';
export * from './vector/index.js';
export * as ops from './vector/operations/index.js';
