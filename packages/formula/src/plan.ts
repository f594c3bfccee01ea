/**
 * All of `@mercer/formula`, and what kernels are planned with: nodes by their operations, tables of rules, orders of nodes, work in steps, and what formulas read.
 *
 * @packageDocumentation
 */
export * from './index.js';
export { build, isApplyOp, type ApplyOp } from './build.js';
export type { CallNode, NodeOf } from './expr.js';
export type { MathArity } from './functions/math-ops.js';
export { wendlandTerms, type WendlandTerm } from './functions/radial.js';
export { internedCount } from './intern-table.js';
export { isNonNegative } from './is-non-negative.js';
export { OPS, SIGNATURES, type ExprType, type Op, type Signature } from './op.js';
export { orderSteps, postOrder } from './post-order.js';
export { applyRule, fold, type ArgResults, type Rule, type RuleTable } from './rule-table.js';
export { simplifyAllSteps } from './simplify.js';
export { finish, isSteps, visitSteps, type Steps } from './steps.js';
export { withArgs } from './substitute.js';
export { variablesOfAll, variablesSteps } from './variables.js';
export { axesOf, type ContractionAxes } from './vector/contraction.js';
export { dependences, type Dependence } from './vector/dependence.js';
export type { DefinedOp } from './vector/elementwise/defined-ops.js';
export type { ElementwiseOp } from './vector/elementwise/elementwise-op.js';
export { scalarOf } from './vector/elementwise/scalar-of.js';
export { innerForm, type InnerForm } from './vector/inner-form.js';
export { hasGathers } from './vector/intern-vector.js';
export { liftLiteralsSteps, type LiftedLiterals } from './vector/lift-literals.js';
export { elementwise } from './vector/nodes.js';
export { postOrderVector } from './vector/post-order-vector.js';
export {
  pairGradientSteps,
  reductionGradientSteps,
} from './vector/reductions/reduction-gradient.js';
export { unrollComponents } from './vector/unroll-components.js';
export { unrolledSize, unrolledSizeSteps } from './vector/unrolled-size.js';
