export { exchangeOperands } from './gradient-expressions.js';
export { gradientBlocking, gradientBlocks } from './gradient-params.js';
export {
  planPairwiseGradient,
  type CpuGradientPlan,
  type CudaGradientPlan,
  type PairwiseGradientPlan,
} from './gradient-plan.js';
export type { PairwiseGradientProblem } from './gradient-problem.js';
export { emitPairwiseGradient } from './emit.js';
export type { ForwardExpressions } from './scaled-norm.js';
export { emitRowsGradient, planRowsGradient, type RowsGradientPlan } from './rows-gradient.js';
