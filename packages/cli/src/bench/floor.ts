import { cellBytes, cellPairs, type Cell } from './cells.js';
import { best, type DeviceLimitsReport } from './limits.js';

/** The least time that a cell can take on a device, and what decides it. */
export interface Floor {
  readonly ms: number;
  readonly kind: 'issue' | 'bandwidth' | 'launch';
}

/**
 * The largest of three: the arithmetic of every pair at the rate of a register-only loop; both inputs and the result
 * moved once at the rate of a copy, except for as many bytes as the last cache keeps from call to call; and one launch.
 * Undefined for norms whose arithmetic no loop measures: the other two alone would flatter.
 */
export function floorOf(cell: Cell, limits: DeviceLimitsReport): Floor | undefined {
  const pairs = pairsPerSecond(cell, limits);
  if (pairs === undefined) return undefined;
  const floors: Floor[] = [{ kind: 'issue', ms: ((cellPairs(cell) * cell.k) / pairs) * 1e3 }];
  const bytes = best(limits, [], 'bytesPerSecond');
  const moved = Math.max(0, cellBytes(cell) - limits.cacheBytes);
  if (bytes !== undefined) {
    floors.push({ kind: 'bandwidth', ms: (moved / bytes) * 1e3 });
  }
  const launch = limits.limits.find((entry) => entry.limit === 'launch');
  if (launch !== undefined) floors.push({ kind: 'launch', ms: launch.ms.median });
  return floors.sort((a, b) => b.ms - a.ms)[0];
}

/**
 * Rate of the loop with the arithmetic of the cell's norm; undefined for norms that no loop stands for.
 * On a CPU a difference and a multiply-add take one slot each of its multiply-add rate.
 */
function pairsPerSecond(cell: Cell, limits: DeviceLimitsReport): number | undefined {
  const rate = (...names: string[]): number | undefined => best(limits, names, 'pairsPerSecond');
  const plain = cell.p === 1 || cell.p === 2 || cell.p === Infinity;
  if (limits.device === 'cpu') {
    const fma = rate(cell.dtype === 'float32' ? 'cpu-fp32-fma' : 'cpu-fp64-fma');
    return plain ? scaled(fma, 1 / 2) : undefined;
  }
  if (cell.dtype === 'float64') return plain ? rate('fp64-add-fma') : undefined;
  if (cell.p === 1) return rate('fp32-add-add', 'fp32-fma-add');
  if (cell.p === 2) return rate('fp32-add-fma');
  if (cell.p === Infinity) return rate('fp32-add-add');
  if (cell.p === 3) return scaled(rate('fp32-fma'), 1 / 3); // difference, square, multiply-add
  const special = rate('fp32-power-special');
  if (cell.p === 0.5 || cell.p === 1.5) return scaled(special, 2); // one square root instead of lg2 and ex2
  return rate('fp32-power-special', 'fp32-power-mixed');
}

function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Why a cell may lie below half of its floor, from its shape alone. */
export function slowReason(
  cell: Cell,
  floor: Floor,
  residentThreads: number,
  launchMs: number,
): string {
  const pairs = cellPairs(cell);
  if (floor.kind === 'launch') {
    return `${pairs} distances of ${cell.k} terms: the time of one chain of loads and additions, not of the launch, decides`;
  }
  if (floor.ms < 4 * launchMs) {
    return `its floor is ${(floor.ms / launchMs).toFixed(1)} times the least launch, which comes on top of it`;
  }
  if (pairs < residentThreads) {
    return `${pairs} distances cannot occupy ${residentThreads} resident threads, also with the inner axis split`;
  }
  if (Math.min(cell.m, cell.n) < 32) {
    return `a side of ${Math.min(cell.m, cell.n)} leaves most of a register tile unused, so operands are loaded more often than used`;
  }
  if (cell.k < 16)
    return `an inner axis of ${cell.k} gives too few operations for each distance written`;
  return 'unexplained by the shape: look at the plan';
}
