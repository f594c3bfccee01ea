import type { DeviceLimits, Scalars } from '@mercer/kernels';
import { describeList, describeValue, type OptionNames } from '@mercer/options';
import { MercerError } from '../mercer-error.js';
import { readOptions } from '../read-options.js';
import type { UnsafeGrid, UnsafeLaunch } from './definition.js';

const LAUNCH: OptionNames<UnsafeLaunch> = {
  grid: true,
  block: true,
  sharedBytes: true,
  tasks: true,
};

/** The most that CUDA takes along x, y and z. */
const MAX_GRID = [2 ** 31 - 1, 65_535, 65_535];
const AXES = ['x', 'y', 'z'] as const;
/** Ranges of tasks for each core, so that one that is late keeps no other waiting long. */
const RANGES_PER_CORE = 8;

const isCount = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least;

/**
 * What a call's `launch` gave, as scalars of its kernel: see `emitUserKernel`.
 *
 * @throws MercerError INVALID_ARGUMENT for what the device cannot launch
 */
export function geometryScalars(what: string, given: UnsafeLaunch, limits: DeviceLimits): Scalars {
  const { grid, block, sharedBytes = 0, tasks } = readOptions(`${what}: launch`, given, LAUNCH);
  const invalid = (message: string): MercerError =>
    new MercerError('INVALID_ARGUMENT', `${what}: launch gave ${message}`);
  if (limits.kind === 'cpu') {
    if (!isCount(tasks, 0)) {
      throw invalid(`${describeValue(tasks)} as tasks. Give how many there are on a CPU, from 0.`);
    }
    return { tasks, chunk: Math.max(1, Math.ceil(tasks / (limits.cores * RANGES_PER_CORE))) };
  }
  const blocks = extents(grid, 0);
  if (blocks?.every((n, at) => n <= (MAX_GRID[at] ?? 0)) !== true) {
    throw invalid(
      `${describeList(grid)} as grid. Give a count of blocks, or up to three, at most ${MAX_GRID.join(', ')}.`,
    );
  }
  const threads = extents(block, 1);
  const { maxThreadsPerBlock, sharedMemPerBlockOptin } = limits;
  if (threads === undefined || threads.reduce((all, n) => all * n, 1) > maxThreadsPerBlock) {
    throw invalid(
      `${describeList(block)} as block. Give a count of threads, or up to three, together from 1 to ${maxThreadsPerBlock}.`,
    );
  }
  if (!isCount(sharedBytes, 0) || sharedBytes > sharedMemPerBlockOptin) {
    throw invalid(
      `${describeValue(sharedBytes)} as sharedBytes. A block of this device may have from 0 to ${sharedMemPerBlockOptin}.`,
    );
  }
  const entries = AXES.flatMap((axis, at) => [
    [`grid.${axis}`, blocks[at] ?? 1],
    [`block.${axis}`, threads[at] ?? 1],
  ]);
  return { ...(Object.fromEntries(entries) as Scalars), sharedBytes };
}

function extents(given: UnsafeGrid, least: number): readonly number[] | undefined {
  const all: readonly unknown[] =
    typeof given === 'number' ? [given] : Array.isArray(given) ? given : [];
  const isOne = all.length > 0 && all.length <= 3 && all.every((n) => isCount(n, least));
  return isOne ? all : undefined;
}
