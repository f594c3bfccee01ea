import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import type { GradientWorkload } from '../gradient-problem.js';

/** Sizes of the GPU kernel; 16 x 16 threads, tiles of 64 columns. */
export interface CudaGradientSizes {
  /** Rows of a tile are 16 times this. */
  readonly rowsPerThread: 1 | 2 | 4;
  /** Steps of k in shared memory. */
  readonly tileK: number;
  /** Neighbouring columns that the second phase takes at once. */
  readonly columnsAtOnce: 1 | 2 | 4;
  readonly parts: number;
}

export const CUDA_TILE_COLUMNS = 64;
export const CUDA_TILE_K = 32;
/** Expressions of more operations are bound by arithmetic, and every copy of them costs compile time. */
const CHEAP_OPS = 12;
const BLOCKS_PER_MULTIPROCESSOR = 2;

/** Bytes of shared memory of a block. */
export function gradientSharedBytes(
  sizes: Pick<CudaGradientSizes, 'rowsPerThread' | 'tileK'>,
  tiles: { readonly values: number; readonly index: boolean },
  dtype: 'float32' | 'float64',
): number {
  const bytes = dtypeBytes(dtype);
  const rows = 16 * sizes.rowsPerThread;
  const padding = 16 / bytes;
  const operands = sizes.tileK * (rows + CUDA_TILE_COLUMNS + 2 * padding);
  const pairs = tiles.values * rows * (CUDA_TILE_COLUMNS + padding);
  return (operands + pairs) * bytes + (tiles.index ? rows * (CUDA_TILE_COLUMNS + 4) * 4 : 0);
}

/** Chooses sizes for a workload; they are right for all sizes. */
export function chooseCudaSizes(
  { problem, ops, values }: GradientWorkload,
  limits: CudaLimits,
): CudaGradientSizes {
  const { m, n, batch, dtype, reduce, wrt } = problem;
  const cheap = ops <= CHEAP_OPS;
  const tileK = CUDA_TILE_K;
  const tiles = { values: Math.max(values, 1), index: wrt === 'rows' && reduce === 'max' };
  const budget = limits.sharedMemPerMultiprocessor / BLOCKS_PER_MULTIPROCESSOR - 1024;
  const fits = (rowsPerThread: 1 | 2 | 4): boolean =>
    gradientSharedBytes({ rowsPerThread, tileK }, tiles, dtype) <=
    Math.min(budget, limits.sharedMemPerBlockOptin);
  // Registers: 16 sums of float64, 16 copies of a power, or 16 indices beside the sums would spill.
  const most = (cheap && reduce === 'sum' ? 4 : 2) / (dtype === 'float32' ? 1 : 2);
  const candidates = ([4, 2, 1] as const).filter((rows) => fits(rows) && rows <= most);
  const rowsPerThread = candidates.find((rows) => 8 * rows < m) ?? candidates.at(-1) ?? 1;
  const columnsAtOnce = !cheap ? 1 : dtype === 'float32' ? 4 : 2;
  const wanted = BLOCKS_PER_MULTIPROCESSOR * limits.multiprocessors;
  const blocks = Math.ceil(m / (16 * rowsPerThread)) * batch;
  let parts = 1;
  while (blocks * parts < wanted && parts * 2 * CUDA_TILE_COLUMNS <= n) parts *= 2;
  return { rowsPerThread, tileK, columnsAtOnce, parts };
}
