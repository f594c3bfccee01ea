import type { Expr } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import type { DType } from '../dtype.js';
import { planMap } from './plan-map.js';
import type { MapProblem, PlannedMap } from './map-plan-types.js';

/** A map with one result. */
export interface OneResult extends Omit<MapProblem, 'results'> {
  readonly expr: Expr;
  readonly out: { readonly dtype: DType; readonly strides: readonly number[] };
}

export const oneResult = ({ expr, out, ...problem }: OneResult): MapProblem => ({
  ...problem,
  results: [{ expr, ...out }],
});

export function planOne(
  problem: OneResult,
  limits: DeviceLimits,
): PlannedMap & { readonly outOffset: number } {
  const planned = planMap(oneResult(problem), limits);
  return { ...planned, outOffset: planned.outOffsets[0] ?? 0 };
}
