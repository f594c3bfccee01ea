import type { Steps } from '@mercer/formula/plan';
import { cudaKernel } from '../../../emit/cuda-kernel.js';
import { cudaType } from '../../../emit/literals.js';
import type { CudaHelper } from '../../../emit/cuda-math.js';
import { cpp, indent, lines } from '../../../emit/text.js';
import {
  type CudaKernel,
  programOf,
  withWorkspace,
  type KernelProgram,
} from '../../../emitted-kernel.js';
import { cudaMergeKernel, withMerge } from '../../cuda/merge-kernel.js';
import {
  cudaPrelude,
  cudaReducerDialect,
  cudaRunningResult,
  spelling,
  type CudaRunningResult,
} from '../../cuda/text.js';
import { elementType } from '../../half-storage.js';
import { batchStrideName, inputName, launchGrid, mapReduceParams, rowNames } from '../../params.js';
import { blockReducer } from '../column-blocks.js';
import { cudaColumnsMerge, cudaColumnsText } from './columns-text.js';
import { columnThreads, columnsOfThread } from './column-threads.js';
import type { TileNeeds } from './dialect.js';
import { cudaOneColumnText } from './one-column-text.js';
import { rowLists } from './row-lists.js';
import { PAIR_TILE_THREADS } from './staging.js';
import { pairTileCost } from '../shape.js';
import { CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';

/** Blocks of a multiprocessor at least: it limits the registers of a thread. */
const LEAST_BLOCKS = 2;

/** The number of a row by index as a value of the data type, -1 where the table has no such row. */
const ROW_OF_TABLE = `INLINE V row_of_table(V index, long long rows) {
  const double place = (double)index + 0.5;
  return place >= 0.0 && place < (double)rows ? (V)(long long)place : (V)-1;
}`;

/**
 * The kernels of a map-reduce over long vectors on a GPU: a block takes a tile of pairs, a thread some of them
 * in registers, and both sides pass through shared memory, some components at a time.
 */
export function* emitCudaPairTile(plan: CudaPairTilePlan): Steps<KernelProgram> {
  const called = new Set<CudaHelper>();
  const dialect = cudaReducerDialect(plan, called);
  const reducers = plan.columns.map((one) => blockReducer(one, dialect, '#pragma unroll'));
  const running = cudaRunningResult(reducers, called);
  const needs: TileNeeds = { helpers: new Set(), others: new Set() };
  const hasOneColumn = plan.formula.columns === 1;
  const body = hasOneColumn
    ? yield* cudaOneColumnText(plan, running, needs)
    : yield* cudaColumnsText(plan, reducers, running, needs);
  yield;
  const helper = hasOneColumn ? rowLists(plan)?.helper : undefined;
  const first = tileKernel(plan, running, { params: mapReduceParams(plan), body, needs, helper });
  if (plan.splits === 1) return programOf(first);
  const merge = (hasOneColumn ? cudaMergeKernel : cudaColumnsMerge)(plan, running);
  return withMerge(plan, running, first, merge, hasOneColumn ? 1 : columnThreads(plan));
}

/** What a kernel over tiles is made from. */
interface TileBody {
  /** Its parameters but for the workspace. */
  readonly params: CudaKernel['params'];
  readonly body: string;
  readonly needs: TileNeeds;
  /** Functions that the body calls. */
  readonly helper?: string | undefined;
}

/** The kernel that computes a formula over tiles of pairs. */
export function tileKernel(
  plan: CudaPairTilePlan,
  running: CudaRunningResult,
  { params, body, needs, helper }: TileBody,
): CudaKernel {
  const { formula, keptPerThread, splits, dtype } = plan;
  const hasOneColumn = formula.columns === 1;
  const before = lines(
    cudaPrelude(plan, running, needs.helpers),
    helper,
    'typedef int Step;',
    needs.others.has('least_step') &&
      'INLINE Step least_step(Step a, Step b) { return a < b ? a : b; }',
    formula.gathers && ROW_OF_TABLE,
  );
  return cudaKernel({
    name: plan.summary,
    entry: 'map_reduce',
    params: splits > 1 ? withWorkspace(params, 'write') : params,
    list: spelling(plan),
    before: `${before}\n`,
    threads: PAIR_TILE_THREADS,
    resident: LEAST_BLOCKS,
    body: lines(
      indent(rowsText(plan)),
      `  const int tx = threadIdx.x % ${CUDA_SIDE}, ty = threadIdx.x / ${CUDA_SIDE};`,
      hasOneColumn && splits > 1 && '  const int part = blockIdx.y;',
      !hasOneColumn && indent(columnThreadText(plan)),
      needs.others.has('place') && indent(placesText(keptPerThread)),
      '  for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {',
      ...plan.inputs.map((input) => {
        const name = inputName(input.position);
        const start = `${name} + layer * ${batchStrideName(input.position)}`;
        return `    const ${elementType(input, cudaType(dtype))}* __restrict__ const in${name} = ${start};`;
      }),
      indent(body, 4),
      '  }',
    ),
    grid: (scalars) => {
      const strips = hasOneColumn ? 1 : columnThreads(plan) / CUDA_SIDE;
      return launchGrid(plan, scalars, CUDA_SIDE * keptPerThread, strips * splits);
    },
    cost: (scalars) => pairTileCost(plan, scalars),
  });
}

/** The numbers of rows, and which kept rows a block has: from `blockFirst` on, before `limit`. */
function rowsText({ axis, ranges, keptPerThread }: CudaPairTilePlan): string {
  const { kept, reduced } = rowNames(axis);
  return ranges
    ? lines(
        `const long long kept = ${kept};`,
        'const long long* const here = tasks + (long long)blockIdx.x * 4;',
        'const long long blockFirst = here[0], limit = blockFirst + here[1];',
      )
    : lines(
        `const long long kept = ${kept}, reduced = ${reduced}, limit = kept;`,
        `const long long blockFirst = (long long)blockIdx.x * ${CUDA_SIDE * keptPerThread};`,
      );
}

/** Which columns a thread has, and which part of the reduced rows. */
function columnThreadText(plan: CudaPairTilePlan): string {
  const strips = String(columnThreads(plan) / CUDA_SIDE);
  const strip = plan.splits > 1 ? `blockIdx.y % ${strips}` : 'blockIdx.y';
  return lines(
    plan.splits > 1 && `const int part = blockIdx.y / ${strips};`,
    `const int columnThread = ${strip} * ${CUDA_SIDE} + tx;`,
    columnsOfThread(plan),
  );
}

/** The numbers of a thread's kept rows. */
function placesText(keptPerThread: number): string {
  return cpp`
    long long place[${keptPerThread}];
    #pragma unroll
    for (int g = 0; g < ${keptPerThread}; ++g) {
      // a row past the end computes what the last one does, and nothing of it is written
      const long long wanted = blockFirst + ty * ${keptPerThread} + g;
      place[g] = wanted < limit ? wanted : limit - 1;
    }
  `;
}
