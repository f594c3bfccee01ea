export { inputsOf, postOrderVector } from './post-order-vector.js';
export {
  adjointOperator,
  diff,
  divergence,
  grad,
  gradMatrix,
  laplacian,
  sumLinOperator,
  traceOperator,
} from './differentiate/operators.js';
export type { ElementwiseOp } from './elementwise/elementwise-op.js';
export { scalarOf } from './elementwise/scalar-of.js';
export { evaluateVector, vectorEvaluator, type InputData } from './evaluate-vector.js';
export { indexI, indexJ, pm, vi, vj } from './inputs.js';
export { isVectorExpr } from './intern-vector.js';
export { simplifyVector } from './simplify/simplify-vector.js';
export { substituteVector } from './substitute-vector.js';
export { parseAliases, type Aliases } from './text/aliases.js';
export { parseFormula, type ParseOptions } from './text/parse-formula.js';
export { printFormula, type PrintOptions } from './text/print-formula.js';
export { unrolledSize } from './unrolled-size.js';
export type * from './vector-expr.js';
