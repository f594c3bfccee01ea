import type { Tensor } from '../tensor.js';

const plans = new WeakMap<Tensor, object>();

/** Remembers the plan that a result was computed with. */
export function rememberPlan(result: Tensor, plan: object): void {
  plans.set(result, plan);
}

/** The plan of the step that wrote a result and said so (`tellsPlan`), with what ran it. */
export function resultPlan(result: Tensor): object | undefined {
  return plans.get(result);
}
