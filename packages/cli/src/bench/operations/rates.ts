import { isSpecialisedNorm } from '@mercer/core/bench';
import type { Cell, KernelCell } from '../cells.js';
import { best, type DeviceLimitsReport } from '../limits.js';

/**
 * Element pairs a second of the loop with the arithmetic of the cell's norm; undefined for norms that no loop stands for,
 * such as those that are products and several roots. On a CPU a difference and a multiply-add take one slot each of its
 * multiply-add rate.
 */
export function pairsPerSecond(cell: KernelCell, limits: DeviceLimitsReport): number | undefined {
  const { p, dtype } = cell;
  const rate = (...names: string[]): number | undefined => best(limits, names, 'pairsPerSecond');
  if (limits.device === 'cpu') {
    const plain = p === 1 || p === 2 || p === Infinity;
    return plain ? scaled(multiplyAdds(cell, limits), 1 / 2) : undefined;
  }
  if (dtype === 'float64') {
    if (p === Infinity) return rate('fp64-add-max');
    return p === 1 || p === 2 ? rate('fp64-add-fma') : undefined;
  }
  if (p === 1) return rate('fp32-add-add', 'fp32-fma-add');
  if (p === 2) return rate('fp32-add-fma');
  if (p === Infinity) return rate('fp32-add-max');
  if (p === 3) return scaled(rate('fp32-fma'), 1 / 3); // difference, square, multiply-add
  // one square root instead of lg2 and ex2
  if (p === 0.5 || p === 1.5) return scaled(rate('fp32-power-special'), 2);
  return isSpecialisedNorm(p) ? undefined : rate('fp32-power-special', 'fp32-power-mixed');
}

/** Multiply-adds a second. */
export function multiplyAdds(
  cell: Pick<Cell, 'dtype'>,
  limits: DeviceLimitsReport,
): number | undefined {
  if (limits.device === 'cpu') {
    return best(
      limits,
      [cell.dtype === 'float32' ? 'cpu-fp32-fma' : 'cpu-fp64-fma'],
      'pairsPerSecond',
    );
  }
  if (cell.dtype === 'float32') return best(limits, ['fp32-fma'], 'pairsPerSecond');
  return scaled(best(limits, ['fp64-add-fma'], 'pairsPerSecond'), 2); // two a pair
}

export function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}
