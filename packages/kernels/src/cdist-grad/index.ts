export type { CdistGradProblem } from './problem.js';
export { isSpecialisedDerivative, normDerivative } from './norm-derivative.js';
export { planCdistGrad } from './plan.js';
export { emitCdistGrad } from './emit.js';
export type { CdistGradPlanOptions } from './cuda/plan.js';
export type { CdistGradPlan } from './plan-types.js';
