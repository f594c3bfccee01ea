import type { Steps } from '@mercer/formula';
import { dtypeBytes } from '../../../dtype.js';
import { cudaType } from '../../../emit/cuda-literal.js';
import type { CudaHelper } from '../../../emit/cuda-math.js';
import { indent, lines } from '../../../emit/indent.js';
import type { CudaKernel } from '../../../emitted-kernel.js';
import { withWorkspace, type KernelProgram } from '../../../kernel-program.js';
import { cudaMergeKernel } from '../../cuda/merge-kernel.js';
import {
  cudaPrelude,
  cudaReducerDialect,
  cudaRunningResult,
  signature,
  type CudaRunningResult,
} from '../../cuda/text.js';
import { elementType } from '../../half-storage.js';
import {
  batchStrideName,
  inputName,
  launchTasks,
  mapReduceParams,
  resultRows,
  rowNames,
} from '../../params.js';
import { wordsOf } from '../../reducers/state-words.js';
import { blockReducer } from '../column-blocks.js';
import { cudaColumnsMerge } from './columns-merge.js';
import { cudaColumnsText } from './columns-text.js';
import { columnThreads, columnsOfThread } from './column-threads.js';
import type { TileNeeds } from './dialect.js';
import { cudaOneColumnText } from './one-column-text.js';
import { everyKeptRow } from '../every-kept-row.js';
import { rowLists } from './row-lists.js';
import { PAIR_TILE_THREADS } from './staging.js';
import { pairTileCost } from '../cost.js';
import { CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';

const MAX_GRID_Z = 65535;
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
  if (plan.splits === 1) return { steps: [{ kernel: first }], workspaceBytes: () => 0 };
  const merge = (hasOneColumn ? cudaMergeKernel : cudaColumnsMerge)(plan, running);
  const bytes = plan.splits * wordsOf(running.accumulators, plan.dtype) * dtypeBytes(plan.dtype);
  const results = hasOneColumn ? 1 : columnThreads(plan);
  return {
    steps: [{ kernel: first }, { kernel: merge }],
    workspaceBytes: (scalars) => resultRows(plan, scalars) * results * bytes,
  };
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
  const entry = 'map_reduce';
  const hasOneColumn = formula.columns === 1;
  const all = splits > 1 ? withWorkspace(params, 'write') : params;
  const side = String(CUDA_SIDE);
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry,
    source: lines(
      cudaPrelude(plan, running, needs.helpers),
      helper,
      'typedef int Step;',
      needs.others.has('least_step') &&
        'INLINE Step least_step(Step a, Step b) { return a < b ? a : b; }',
      formula.gathers && ROW_OF_TABLE,
      `extern "C" __global__ void __launch_bounds__(${PAIR_TILE_THREADS}, ${LEAST_BLOCKS})`,
      `${entry}(${signature(all, dtype)}) {`,
      indent(rowsText(plan)),
      `  const int tx = threadIdx.x % ${side}, ty = threadIdx.x / ${side};`,
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
      '}',
      '',
    ).concat('\n'),
    params: all,
    options: [],
    geometry: (scalars) => {
      const { batch = 0 } = scalars;
      const strips = hasOneColumn ? 1 : columnThreads(plan) / CUDA_SIDE;
      const tasks = launchTasks(plan, scalars, CUDA_SIDE * keptPerThread);
      return {
        grid: [tasks, strips * splits, Math.min(batch, MAX_GRID_Z)],
        block: [PAIR_TILE_THREADS, 1, 1],
        sharedMemBytes: 0,
      };
    },
    cost: (scalars) => pairTileCost(plan, scalars),
  };
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
  return lines(
    `long long place[${keptPerThread}];`,
    everyKeptRow(
      keptPerThread,
      lines(
        '// a row past the end computes what the last one does, and nothing of it is written',
        `const long long wanted = blockFirst + ty * ${keptPerThread} + g;`,
        'place[g] = wanted < limit ? wanted : limit - 1;',
      ),
    ),
  );
}
