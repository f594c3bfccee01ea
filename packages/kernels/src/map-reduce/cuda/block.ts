import { cpp } from '../../emit/text.js';
import type { CudaTile } from '../plan-types.js';
import type { RunningResult } from '../reducers/running-result.js';

type Block = Pick<CudaTile, 'rowsPerThread' | 'threads' | 'slices'>;

/** Threads of a block that lie side by side, each with other kept rows. */
export const lanesOf = ({ threads, slices }: Block): number => threads / slices;

/** Kept rows of a block. */
export const blockRows = (block: Block): number => lanesOf(block) * block.rowsPerThread;

/** Kept row `r` of a thread; `first` is in scope, and where rows are sliced `lane`. */
export const rowOfThread = (block: Block): string =>
  `first + ${laneOfThread(block)} + r * ${lanesOf(block)}`;

/** The number of a thread among those that lie side by side. */
export const laneOfThread = ({ slices }: Block): string => (slices === 1 ? 'threadIdx.x' : 'lane');

/** Declares which kept rows and which slice a thread has, where rows are sliced. */
export function sliceOfThread(block: Block): string {
  if (block.slices === 1) return '';
  const lanes = String(lanesOf(block));
  return `const int lane = threadIdx.x % ${lanes}, slice = threadIdx.x / ${lanes};`;
}

/** Numbers between the tiles of two slices: whole vectors of 16 bytes. */
export const BANKS_APART = 4;

/** Numbers from the rows of one slice to those of the next: apart in banks where a warp reads several. */
export const sliceStride = (block: Block & Pick<CudaTile, 'tile'>, width: number): number =>
  block.tile * width + (block.slices > 1 && lanesOf(block) < WARP ? BANKS_APART : 0);

/** Where the slices of a block leave their results: `sliced`, slice by slice, row by row. */
export const slicesRoom = (block: Block): string =>
  `__shared__ State sliced[${block.threads * block.rowsPerThread}];`;

/**
 * Merges the slices of every kept row in order, each row by one thread; `store` writes `all` of the kept row `row`.
 * `total`, `first`, `slice` and `lane` are in scope.
 */
export function mergeSlices(
  block: Block,
  { accumulators }: Pick<RunningResult, 'accumulators'>,
  { everyRow, limit, store }: SlicesText,
): string {
  const rows = String(blockRows(block));
  const unrolled = Math.max(1, Math.floor(LOADED_SLOTS / accumulators.length));
  return cpp`
    __syncthreads();
    ${everyRow(`sliced[slice * ${rows} + lane + r * ${lanesOf(block)}] = total[r];`)}
    __syncthreads();
    for (int mine = threadIdx.x; mine < ${rows}; mine += ${block.threads}) {
      const long long row = first + mine;
      if (row >= ${limit}) continue;
      State all = sliced[mine];
      #pragma unroll ${unrolled}
      for (int n = 1; n < ${block.slices}; ++n) merge(all, sliced[n * ${rows} + mine]);
      ${store('all')}
    }
  `;
}

interface SlicesText {
  readonly everyRow: (body: string) => string;
  readonly limit: string;
  readonly store: (state: string) => string;
}

const WARP = 32;
/** Members of results that a thread waits for at a time. */
const LOADED_SLOTS = 16;
