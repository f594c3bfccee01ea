import type { DeviceLimits } from '../device-limits.js';
import type { LaunchedPlan } from './launched-plan.js';
import type { MapReduceProblem } from './problem.js';

/** What a plan says of `fastMath`: true where kernels have other functions for it. */
export function fastMathOf(
  { fastMath, dtype }: Pick<MapReduceProblem, 'fastMath' | 'dtype'>,
  { kind }: Pick<DeviceLimits, 'kind'>,
): Pick<LaunchedPlan, 'fastMath'> {
  return fastMath === true && kind === 'cuda' && dtype === 'float32' ? { fastMath: true } : {};
}

/** The same as a plan's line says it. */
export const fastMathText = ({ fastMath }: Pick<LaunchedPlan, 'fastMath'>): readonly string[] =>
  fastMath === true ? ['fast math'] : [];
