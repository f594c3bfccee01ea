import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import type { PairwiseDType } from '../problem.js';
import type { DotConfig, TileConfig } from '../plan-types.js';

/** Sizes of a problem by role. */
export interface RoleSizes {
  readonly rows: number;
  readonly columns: number;
  readonly k: number;
  readonly batch: number;
}

// Round figures of current data-centre parts: they only rank plans, they promise nothing.
const CLOCK_HZ = 1.75e9;
const LANES = 128;
const MEMORY_BYTES_PER_SECOND = 4e12;
const CACHE_BYTES_PER_SECOND = 5e12;
const LAUNCH_SECONDS = 2.5e-6;
/** Latency of filling the first stages and of storing the tile. */
const TILE_SECONDS = 2e-6;

/** Warps on one multiprocessor that hide the latency of the arithmetic and of shared memory. */
const WARPS_FOR_FULL_ISSUE = 8;

/** Estimated seconds of a tiled plan. */
export function estimateTile(
  tile: TileConfig,
  splitK: number,
  size: RoleSizes,
  slots: number,
  dtype: PairwiseDType,
  limits: CudaLimits,
): number {
  const tiles = Math.ceil(size.rows / tile.tileRows) * Math.ceil(size.columns / tile.tileColumns);
  const blocks = tiles * size.batch * splitK;
  const kPerPart = Math.ceil(Math.ceil(size.k / tile.tileK) / splitK) * tile.tileK;
  const lanes = dtype === 'float32' ? LANES : LANES / 2;
  const perThread = (tile.tileRows * tile.tileColumns) / (tile.threadRows * tile.threadColumns);
  // shared-memory reads take issue slots too, the more the smaller the thread's tile
  const overhead = 1.05 + 0.8 / Math.sqrt(perThread) / slots;
  const blockSeconds =
    (tile.tileRows * tile.tileColumns * kPerPart * slots * overhead) / (lanes * CLOCK_HZ);
  const perMultiprocessor = Math.ceil(blocks / limits.multiprocessors);
  const resident = Math.min(perMultiprocessor, tile.blocksPerMultiprocessor);
  const warps = (resident * tile.threadRows * tile.threadColumns) / 32;
  const efficiency = Math.min(1, warps / WARPS_FOR_FULL_ISSUE);
  const waves = Math.ceil(perMultiprocessor / tile.blocksPerMultiprocessor);
  const compute = (perMultiprocessor * blockSeconds) / efficiency + waves * TILE_SECONDS;
  const outputs = size.rows * size.columns * size.batch * dtypeBytes(dtype);
  const partials = splitK > 1 ? outputs * 2 * splitK : 0;
  const combine = splitK > 1 ? LAUNCH_SECONDS + partials / MEMORY_BYTES_PER_SECOND : 0;
  return LAUNCH_SECONDS + Math.max(compute, memorySeconds(size, dtype)) + combine;
}

/** Estimated seconds of a plan whose lanes share the sum. */
export function estimateDot(
  dot: DotConfig,
  size: RoleSizes,
  slots: number,
  dtype: PairwiseDType,
  limits: CudaLimits,
): number {
  const groups =
    Math.ceil(size.rows / dot.rows) * Math.ceil(size.columns / dot.columns) * size.batch;
  const perGroup = dot.rows * dot.columns;
  const lanesUsed = dot.lanes * dot.warps;
  const steps = Math.ceil(size.k / (lanesUsed * dot.vector)) * dot.vector;
  const lanes = dtype === 'float32' ? LANES : LANES / 2;
  const reduce = perGroup * Math.log2(Math.max(2, dot.lanes)) * 3;
  const threadSlots = steps * perGroup * slots * 1.3 + steps * 4 + reduce + 150;
  const compute = (groups * lanesUsed * threadSlots) / (lanes * limits.multiprocessors * CLOCK_HZ);
  const read = groups * (dot.rows + dot.columns) * size.k * dtypeBytes(dtype);
  const latency = (steps / dot.vector) * 0.35e-6 + 1e-6;
  return (
    LAUNCH_SECONDS +
    Math.max(compute, read / CACHE_BYTES_PER_SECOND, memorySeconds(size, dtype), latency)
  );
}

/** Seconds to read both operands once and write the output once. */
function memorySeconds(size: RoleSizes, dtype: PairwiseDType): number {
  const elements = (size.rows + size.columns) * size.k + size.rows * size.columns;
  return (size.batch * elements * dtypeBytes(dtype)) / MEMORY_BYTES_PER_SECOND;
}
