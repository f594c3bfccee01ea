import {
  isLinear,
  isReduction,
  isSolver,
  type Cell,
  type LinearCell,
  type ReductionCell,
} from './cells.js';
import { best, type DeviceLimitsReport } from './limits.js';
import { sizesOf } from './operations/operation.js';
import { operationOf } from './operations/operations.js';
import { INNER_PRODUCT_DIMS } from './operations/reduction-floor.js';

/** The least time that a cell can take on a device, and what decides it. */
export interface Floor {
  readonly ms: number;
  /** Products: those of an iterative solution, as long as one takes by itself. */
  readonly kind: 'issue' | 'bandwidth' | 'launch' | 'products';
}

/**
 * The largest of three: the operation's arithmetic at the rate of a register-only loop; the inputs and the result moved once
 * at the rate of a copy, except for as many bytes as the last cache keeps from call to call; and one launch.
 * Undefined where no loop measures the arithmetic: the other two alone would flatter.
 */
export function floorOf(cell: Cell, limits: DeviceLimitsReport): Floor | undefined {
  const operation = operationOf(cell);
  const arithmeticMs = operation.arithmeticMs(cell, limits);
  if (arithmeticMs === undefined) return undefined;
  const floors: Floor[] = [{ kind: 'issue', ms: arithmeticMs }];
  const bytes = best(limits, [], 'bytesPerSecond');
  const moved = Math.max(0, sizesOf(operation, cell).bytes - limits.cacheBytes);
  if (bytes !== undefined) {
    floors.push({ kind: 'bandwidth', ms: (moved / bytes) * 1e3 });
  }
  const launch = limits.limits.find((entry) => entry.limit === 'launch');
  if (launch !== undefined) floors.push({ kind: 'launch', ms: launch.ms.median });
  return floors.sort((a, b) => b.ms - a.ms)[0];
}

/** Why a cell may lie below half of its floor, from its shape alone. */
export function slowReason(
  cell: Cell,
  floor: Floor,
  residentThreads: number,
  launchMs: number,
): string {
  const { results } = sizesOf(operationOf(cell), cell);
  if (isLinear(cell)) return slowLinear(cell, floor);
  if (isSolver(cell)) {
    return cell.preconditioner === undefined
      ? `a product of ${cell.n} points is shorter than what surrounds it: the steps and inner products of an iteration`
      : 'making the preconditioner, and applying it, is not in the floor';
  }
  if (isReduction(cell)) return slowReduction(cell, floor, residentThreads, launchMs);
  if (floor.kind === 'launch') {
    return `${results} results of ${cell.k} terms: the time of one chain of loads and additions, not of the launch, decides`;
  }
  if (floor.ms < 4 * launchMs) {
    return `its floor is ${(floor.ms / launchMs).toFixed(1)} times the least launch, which comes on top of it`;
  }
  if (results < residentThreads) {
    return `${results} results cannot occupy ${residentThreads} resident threads, also with the inner axis split`;
  }
  if (Math.min(cell.m, cell.n) < 32) {
    return `a side of ${Math.min(cell.m, cell.n)} leaves most of a register tile unused, so operands are loaded more often than used`;
  }
  if (cell.k < 16)
    return `an inner axis of ${cell.k} gives too few operations for each result written`;
  return 'unexplained by the shape: look at the plan';
}

function slowReduction(
  { operation, m, n, d, k, batch }: ReductionCell,
  { kind, ms }: Floor,
  residentThreads: number,
  launchMs: number,
): string {
  if (kind === 'launch')
    return `${m} x ${n} pairs take less than a launch: what surrounds them decides`;
  if (ms < 4 * launchMs) {
    return `its floor is ${(ms / launchMs).toFixed(1)} times the least launch, which comes on top of it`;
  }
  if (m * batch < residentThreads) {
    return `${m * batch} rows cannot occupy ${residentThreads} resident threads unless the reduced side is split`;
  }
  if (d >= INNER_PRODUCT_DIMS) {
    return `inner products of ${d} numbers suit a matrix product, on a GPU tensor cores; the floor counts them as multiply-adds, the kernel may take differences`;
  }
  if (operation === 'kMeans') {
    return 'the updates of the centroids, on a GPU by a sort, and the launches of every iteration are not in the floor';
  }
  if (operation === 'nearest') {
    return `keeping the ${k ?? 1} nearest of a row in order is not in the floor`;
  }
  return 'unexplained by the shape: look at the plan';
}

/** Routines of a library that is not ours: what is known of their algorithms. */
function slowLinear({ operation, n }: LinearCell, { kind }: Floor): string {
  if (kind !== 'issue') return `matrices of order ${n} take more than the ${kind} that bounds them`;
  if (operation === 'eigh' || operation === 'svd') {
    return 'half of the reduction is products of a matrix with a vector, which wait for memory; the iteration on the reduced matrix is not in the floor';
  }
  if (operation === 'matmul') return 'unexplained by the shape: look at the BLAS';
  return `the panels of a factorisation of order ${n} and its right-hand sides are narrower than the blocks of a matrix product`;
}
