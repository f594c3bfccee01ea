import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes, type PairwiseDType } from '../../dtype.js';
import type { CdistGradSizes } from '../problem.js';
import type { FmaConfig, MmaConfig } from '../plan-types.js';
import { FMA_THREADS, FMA_TILE_K } from './configs.js';
import { fmaTile } from './fma-kernel.js';
import { MMA_TILE_K, mmaTile } from './mma-kernel.js';
import { blockCount, type BlockTile } from './staged-kernel.js';

/** Cost of one factor a phi(delta). */
export interface TermCost {
  readonly issueSlots: number;
  readonly special: number;
}

// Round figures of current data-centre parts: they only rank plans, they promise nothing.
const CLOCK_HZ = 1.8e9;
/** A multiprocessor has four schedulers of one warp instruction a cycle. */
const SCHEDULERS = 4;
/** Cycles of a special-function instruction on its unit. */
const SPECIAL_CYCLES = 8;
/**
 * Cycles that a scheduler issues nothing else for a tensor-core product of 16 x 8 x 8, and for a special-function
 * instruction: measured on an H200, where `mma.sync` and plain instructions add up instead of overlapping.
 */
const MMA_ISSUE_CYCLES = 6.1;
const SPECIAL_ISSUE_CYCLES = 2.4;
/** Share of the issue slots that a loop of these kernels reaches. */
const EFFICIENCY = 0.85;
const MEMORY_BYTES_PER_SECOND = 4e12;
const LAUNCH_SECONDS = 2e-6;
const NEXT_LAUNCH_SECONDS = 1.5e-6;
/** Latency of filling the first stages, reading d and storing a tile. */
const BLOCK_CYCLES = 3000;
/** Warps of one scheduler that hide the latency of the arithmetic; products on tensor cores need fewer. */
const WARPS_FOR_FULL_ISSUE = { fma: 3, mma: 2 } as const;

/** Cycles of one warp for one step of k, and what surrounds them. */
interface WarpWork {
  readonly cyclesPerStep: number;
  readonly warps: number;
  readonly warpsForFullIssue: number;
  readonly residentBlocks: number;
  readonly tile: BlockTile;
  readonly tileK: number;
}

/** Estimated seconds with plain multiply-adds. */
export function estimateFma(
  config: FmaConfig,
  splitK: number,
  size: CdistGradSizes,
  term: TermCost,
  dtype: PairwiseDType,
  limits: CudaLimits,
): number {
  const pairs = config.perThreadN * config.perThreadM;
  const width = dtype === 'float32' ? 1 : 2;
  const reads = config.tileO / 4 + config.perThreadM / 4 + config.perThreadN / 2;
  const issue = width * pairs * (config.tileO + term.issueSlots) + 1.5 * width * reads;
  const special = pairs * term.special * SPECIAL_CYCLES;
  return seconds(splitK, size, dtype, limits, {
    cyclesPerStep: Math.max(issue / EFFICIENCY, special),
    warps: (FMA_THREADS.n * FMA_THREADS.m) / 32,
    warpsForFullIssue: WARPS_FOR_FULL_ISSUE.fma,
    residentBlocks: config.blocksPerMultiprocessor,
    tile: fmaTile(config),
    tileK: FMA_TILE_K[dtype],
  });
}

/** Estimated seconds with tensor cores. */
export function estimateMma(
  config: MmaConfig,
  splitK: number,
  size: CdistGradSizes,
  term: TermCost,
  limits: CudaLimits,
): number {
  const tiles = config.perWarpN * config.perWarpM;
  // Of 32 steps: eight factors a lane, twelve products and four additions a tile, c and a for all tiles.
  const factors = 8 * (term.issueSlots + 2 + term.special * SPECIAL_ISSUE_CYCLES);
  const issue =
    tiles * (factors + 12 * MMA_ISSUE_CYCLES + 4) + 2 * config.perWarpN + 8 * config.perWarpM + 160;
  const special = tiles * 8 * term.special * SPECIAL_CYCLES;
  return seconds(splitK, size, 'float32', limits, {
    cyclesPerStep: Math.max(issue, special) / MMA_TILE_K,
    warps: config.warpsN * config.warpsM,
    warpsForFullIssue: WARPS_FOR_FULL_ISSUE.mma,
    residentBlocks: config.blocksPerMultiprocessor,
    tile: mmaTile(config),
    tileK: MMA_TILE_K,
  });
}

function seconds(
  splitK: number,
  size: CdistGradSizes,
  dtype: PairwiseDType,
  limits: CudaLimits,
  work: WarpWork,
): number {
  const blocks = blockCount(work.tile, splitK, size);
  const even = blocks / limits.multiprocessors;
  // A few blocks come in whole rounds; of many, the last ones find the multiprocessor almost to themselves.
  const perMultiprocessor =
    even <= work.residentBlocks ? Math.ceil(even) : even + work.residentBlocks / 4;
  const resident = Math.min(perMultiprocessor, work.residentBlocks);
  const steps = Math.ceil(Math.ceil(size.k / work.tileK) / splitK) * work.tileK;
  const busy = Math.min(
    1,
    0.25 + (0.75 * resident * work.warps) / SCHEDULERS / work.warpsForFullIssue,
  );
  const cyclesPerBlock = (steps * work.cyclesPerStep * work.warps) / SCHEDULERS;
  const waves = Math.ceil(perMultiprocessor / work.residentBlocks);
  const compute = ((perMultiprocessor * cyclesPerBlock) / busy + waves * BLOCK_CYCLES) / CLOCK_HZ;
  const bytes = dtypeBytes(dtype);
  const outputs = size.batch * size.m * size.n * size.o * bytes;
  const inputs = size.batch * (size.k * (size.m + size.n + size.o) + size.n * size.m) * bytes;
  const partials = splitK > 1 ? (2 * splitK * outputs) / MEMORY_BYTES_PER_SECOND : 0;
  const combine = splitK > 1 ? NEXT_LAUNCH_SECONDS + partials : 0;
  return LAUNCH_SECONDS + Math.max(compute, (inputs + outputs) / MEMORY_BYTES_PER_SECOND) + combine;
}
