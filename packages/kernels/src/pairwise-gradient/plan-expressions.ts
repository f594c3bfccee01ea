import type { RealExpr } from '@mercer/formula';
import { fromJson } from '../pairwise/expression-json.js';
import { theta, type PairwiseGradientPlan } from './gradient-plan.js';

/** The expressions of a plan as nodes. */
export interface PlanExpressions {
  readonly inner: RealExpr;
  readonly pairs: readonly RealExpr[];
  readonly sums: readonly {
    readonly value?: RealExpr | undefined;
    readonly term?: RealExpr | undefined;
  }[];
  /** Variables that are the same for a batch entry: p, theta0, theta1, ... */
  readonly uniform: readonly string[];
  /** The uniform variables that are exponents of norms, which are above 0. */
  readonly positive: readonly string[];
  readonly pairNames: readonly string[];
  /** Whether any sum has a term, so that k is walked a second time. */
  readonly readsTerms: boolean;
}

/** Reads the expressions of a plan. */
export function planExpressions(plan: PairwiseGradientPlan): PlanExpressions {
  const read = (json: Parameters<typeof fromJson>[0]): RealExpr => fromJson(json) as RealExpr;
  const p = plan.parameters.indexOf('p');
  return {
    inner: read(plan.inner),
    pairs: plan.pairs.map(read),
    sums: plan.sums.map(({ value, term }) => ({
      value: value === undefined ? undefined : read(value),
      term: term === undefined ? undefined : read(term),
    })),
    uniform: ['p', ...plan.parameters.map((_, i) => theta(i))],
    positive: p < 0 ? ['p'] : ['p', theta(p)],
    pairNames: plan.pairs.map((_, i) => `pair${i}`),
    readsTerms: plan.sums.some(({ term }) => term !== undefined),
  };
}
