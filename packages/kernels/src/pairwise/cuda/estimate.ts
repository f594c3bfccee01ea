import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes, type PairwiseDType } from '../../dtype.js';
import type { DotConfig } from '../plan-types.js';
import { blockThreads, stageBytes, type TileConfig } from '../../pair-tile/cuda/tile-operand.js';
import { tilesOf } from './triangle.js';

/** Sizes of a problem by role. */
export interface RoleSizes {
  readonly rows: number;
  readonly columns: number;
  readonly k: number;
  readonly batch: number;
  /** Only tiles on the diagonal and below it are computed. */
  readonly symmetric?: boolean;
}

// Round figures of current data-centre parts: they only rank plans, they promise nothing.
const CLOCK_HZ = 1.9e9;
const LANES = 128;
const MEMORY_BYTES_PER_SECOND = 4e12;
const CACHE_BYTES_PER_SECOND = 5e12;
const LAUNCH_SECONDS = 1.8e-6;
/** A second kernel behind the first. */
const NEXT_LAUNCH_SECONDS = 1.5e-6;
/** Latency of filling the first stages and of storing the tile. */
const TILE_SECONDS = 1.5e-6;
/** From asking for a tile of k to having it in shared memory, one tile at a time. */
const LOAD_SECONDS = 0.8e-6;
/** Time of reading an operand from shared memory into a register, in issue slots. */
const READ_SLOTS = 2.25;
/** Instructions of one turn of the loop over k. */
const TURN_SLOTS = 8;

/** Shared memory that the system keeps per block. */
const RESERVED = 1024;
/** Warps on one multiprocessor that hide the latency of the arithmetic and of shared memory. */
const WARPS_FOR_FULL_ISSUE = 8;

/** Estimated seconds of a tiled plan. */
export function estimateTile(
  tile: TileConfig,
  splitK: number,
  size: RoleSizes,
  issueSlots: number,
  dtype: PairwiseDType,
  limits: CudaLimits,
): number {
  const tiles = tilesOf(size.rows, size.columns, tile, size.symmetric);
  const blocks = tiles * size.batch * splitK;
  const kPerPart = Math.ceil(Math.ceil(size.k / tile.tileK) / splitK) * tile.tileK;
  const lanes = dtype === 'float32' ? LANES : LANES / 2;
  const own = [tile.tileRows / tile.threadRows, tile.tileColumns / tile.threadColumns] as const;
  const perStep =
    issueSlots * own[0] * own[1] + READ_SLOTS * (own[0] + own[1]) + TURN_SLOTS / tile.chunkK;
  const combining = tile.slicesK > 1 ? 3 * own[0] * own[1] * tile.slicesK : 0;
  const threadSlots = (kPerPart / tile.slicesK) * perStep + combining;
  const threads = blockThreads(tile);
  const blockSeconds = (threads * threadSlots) / (lanes * CLOCK_HZ);
  const perMultiprocessor = Math.ceil(blocks / limits.multiprocessors);
  const fitting = Math.floor(
    limits.sharedMemPerMultiprocessor / (stageBytes(tile, dtype) + RESERVED),
  );
  const residentMost = Math.max(1, Math.min(tile.blocksPerMultiprocessor, fitting));
  const resident = Math.min(perMultiprocessor, residentMost);
  const warps = (resident * threads) / 32;
  const efficiency = Math.min(1, 0.35 + (0.65 * warps) / WARPS_FOR_FULL_ISSUE);
  const waves = Math.ceil(perMultiprocessor / residentMost);
  const turns = kPerPart / tile.tileK;
  const loading = (waves * turns * LOAD_SECONDS) / (tile.stages - 1);
  const compute =
    Math.max((perMultiprocessor * blockSeconds) / efficiency, loading) + waves * TILE_SECONDS;
  const outputs = size.rows * size.columns * size.batch * dtypeBytes(dtype);
  const partials = splitK > 1 ? outputs * 2 * splitK : 0;
  const combine = splitK > 1 ? NEXT_LAUNCH_SECONDS + partials / MEMORY_BYTES_PER_SECOND : 0;
  return LAUNCH_SECONDS + Math.max(compute, memorySeconds(size, dtype)) + combine;
}

/** Estimated seconds of a plan whose lanes share the sum. */
export function estimateDot(
  dot: DotConfig,
  size: RoleSizes,
  issueSlots: number,
  dtype: PairwiseDType,
  limits: CudaLimits,
): number {
  const group = { tileRows: dot.rows, tileColumns: dot.columns };
  const groups = tilesOf(size.rows, size.columns, group, size.symmetric) * size.batch;
  const perGroup = dot.rows * dot.columns;
  const lanesUsed = dot.lanes * dot.warps;
  const steps = Math.ceil(size.k / (lanesUsed * dot.vector)) * dot.vector;
  const lanes = dtype === 'float32' ? LANES : LANES / 2;
  const reduce = perGroup * Math.log2(Math.max(2, dot.lanes)) * 3;
  const threadSlots = steps * perGroup * issueSlots * 1.3 + steps * 4 + reduce + 200;
  const compute = (groups * lanesUsed * threadSlots) / (lanes * limits.multiprocessors * CLOCK_HZ);
  const read = groups * (dot.rows + dot.columns) * size.k * dtypeBytes(dtype);
  const latency = (steps / dot.vector) * 0.2e-6 + 0.5e-6;
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
