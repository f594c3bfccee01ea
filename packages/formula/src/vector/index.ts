export { inputsOf } from './post-order-vector.js';
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
export { lift } from './elementwise/lift.js';
export {
  evaluateVector,
  vectorEvaluator,
  type InputData,
  type RowPair,
} from './evaluate-vector.js';
export { indexI, indexJ, pm, vi, vij, vj } from './inputs.js';
export { isVectorExpr } from './intern-vector.js';
export { simplifyVector } from './simplify/simplify-vector.js';
export { substituteVector } from './substitute-vector.js';
export { parseAliases, type Aliases } from './text/aliases.js';
export { parseFormula, type ParseOptions } from './text/parse-formula.js';
export { printFormula, type PrintOptions } from './text/print-formula.js';
export type * from './vector-expr.js';
export { defineOp, type DefinedOperation } from './define-op.js';
export {
  evaluateReduction,
  type ReductionValues,
  type RowCounts,
} from './reductions/evaluate-reduction.js';
export {
  reductionGradient,
  reductionTangent,
  type ReductionGradient,
  type SavedResults,
} from './reductions/reduction-gradient.js';
export {
  outputsOf,
  reduction,
  reductionOf,
  REDUCTION_KINDS,
  traitsOf,
  type Reduction,
  type ReductionAxis,
  type ReductionKind,
  type ReductionOptions,
  type ReductionOutput,
  type ReductionTraits,
} from './reductions/reduction.js';
export {
  kindOf,
  REDUCTION_NAMES,
  type KindOf,
  type ReductionName,
} from './reductions/reduction-name.js';
export { isReductionText, parseReduction, printReduction } from './text/parse-reduction.js';
export type { TextLimits } from './text/limits.js';
