import { inputsOf, unrolledSize, type Reduction } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { MAP_REDUCE_LIMITS } from '../limits.js';

/** Whether a formula is too long to be written out: loops over its components serve it. */
export function isWide({ kind, formula, weight, k = 1 }: Reduction, limits: DeviceLimits): boolean {
  const roots = weight === undefined ? [formula] : [formula, weight];
  void limits;
  const { operations, components, results } = MAP_REDUCE_LIMITS;
  const dims = { i: 0, j: 0, parameter: 0 };
  for (const { category, dim } of inputsOf(...roots)) dims[category] += dim;
  const width = kind.includes('K') ? formula.dim * k : Math.max(formula.dim, (weight?.dim ?? 0) + 2);
  return (
    unrolledSize(...roots) > operations ||
    Object.values(dims).some((dim) => dim > components) ||
    width > results
  );
}
