import { dtypeBytes } from '../../dtype.js';
import { cudaHelpers, type CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import { withWorkspace, type PairwiseProgram } from '../../pairwise/program.js';
import { cudaReducerDialect, reducerPrelude } from '../cuda-kernel.js';
import { outputText, parameterList, stateWords } from '../cuda-text.js';
import { batchStrideName, inputName, mapReduceParams, rowsOf } from '../params.js';
import type { Reducer } from '../reducers/reducer.js';
import { blockReducer } from './column-blocks.js';
import { cudaColumnsText } from './cuda-columns-text.js';
import { cudaNarrowText, everyGroup } from './cuda-narrow-text.js';
import { WIDE_THREADS } from './cuda-staging.js';
import { wideCost } from './wide-cost.js';
import { CUDA_SIDE, type CudaWidePlan } from './wide-plan-types.js';

const MAX_GRID_Z = 65535;
/** Blocks of a multiprocessor at least: it limits the registers of a thread. */
const LEAST_BLOCKS = 2;

/**
 * The kernels of a map-reduce over long vectors on a GPU: a block takes a tile of pairs, a thread some of them
 * in registers, and both sides pass through shared memory, some components at a time.
 */
export function emitCudaWide(plan: CudaWidePlan): PairwiseProgram {
  const reducer = blockReducer(plan, cudaReducerDialect(plan), '#pragma unroll');
  const first = firstKernel(plan, reducer);
  if (plan.splits === 1) return { steps: [{ kernel: first }], workspaceBytes: () => 0 };
  const bytes = plan.splits * reducer.slots.length * dtypeBytes(plan.dtype);
  return {
    steps: [{ kernel: first }, { kernel: mergeKernel(plan, reducer) }],
    workspaceBytes: (scalars) => resultRows(plan, scalars) * bytes,
  };
}

const resultRows = (plan: CudaWidePlan, scalars: Scalars): number =>
  rowsOf(plan, scalars).kept * (scalars['batch'] ?? 0);

function firstKernel(plan: CudaWidePlan, reducer: Reducer): CudaKernel {
  const { formula, groups, rows, splits, axis, block } = plan;
  const entry = 'map_reduce';
  const helpers = new Set<CudaHelper>();
  const isNarrow = formula.columns === 1;
  const body = (isNarrow ? cudaNarrowText : cudaColumnsText)(plan, reducer, helpers);
  const params = mapReduceParams(plan, reducer);
  const all = splits > 1 ? withWorkspace(params, 'write') : params;
  const [kept, reduced] =
    axis === 1 ? (['rowsI', 'rowsJ'] as const) : (['rowsJ', 'rowsI'] as const);
  const stretches = String(splits * CUDA_SIDE);
  const threads = String(WIDE_THREADS);
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry,
    source: lines(
      reducerPrelude(plan, reducer),
      'typedef int Step;',
      cudaHelpers(helpers, plan.dtype),
      `extern "C" __global__ void __launch_bounds__(${threads}, ${String(LEAST_BLOCKS)})`,
      `${entry}(${parameterList(all, plan.dtype)}) {`,
      `  const long long kept = ${kept}, reduced = ${reduced};`,
      `  const int tx = threadIdx.x % ${String(CUDA_SIDE)}, ty = threadIdx.x / ${String(CUDA_SIDE)};`,
      `  const long long blockFirst = (long long)blockIdx.x * ${String(CUDA_SIDE * groups)};`,
      isNarrow
        ? lines(
            '  const int part = blockIdx.y;',
            `  const long long least = (reduced + ${stretches} - 1) / ${stretches};`,
            `  const long long length = (least + ${String(rows)} - 1) / ${String(rows)} * ${String(rows)};`,
          )
        : `  const int firstColumn = (blockIdx.y * ${String(CUDA_SIDE)} + tx) * ${String(block)};`,
      body.includes('place[') && indent(placesText(groups)),
      '  for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {',
      ...plan.inputs.map(
        ({ position: p }) =>
          `    const V* __restrict__ const in${inputName(p)} = ${inputName(p)} + layer * ${batchStrideName(p)};`,
      ),
      indent(body, 4),
      '  }',
      '}',
      '',
    ).concat('\n'),
    params: all,
    options: [],
    geometry: (scalars) => {
      const { batch = 0 } = scalars;
      const blocks = Math.ceil(rowsOf(plan, scalars).kept / (CUDA_SIDE * groups));
      const parts = isNarrow ? splits : Math.ceil(formula.columns / (block * CUDA_SIDE));
      return {
        grid: [blocks, parts, Math.min(batch, MAX_GRID_Z)],
        block: [WIDE_THREADS, 1, 1],
        sharedMemBytes: 0,
      };
    },
    cost: (scalars) => wideCost(plan, scalars),
  };
}

/** The numbers of a thread's kept rows. */
function placesText(groups: number): string {
  return lines(
    `long long place[${String(groups)}];`,
    everyGroup(
      groups,
      lines(
        '// a row past the end computes what the last one does, and nothing of it is written',
        `const long long wanted = blockFirst + ty * ${String(groups)} + g;`,
        'place[g] = wanted < kept ? wanted : kept - 1;',
      ),
    ),
  );
}

const MERGE_THREADS = 128;

/** Merges the parts of every kept row in order. */
function mergeKernel(plan: CudaWidePlan, reducer: Reducer): CudaKernel {
  const entry = 'map_reduce_merge';
  const params = withWorkspace(mapReduceParams(plan, reducer), 'read');
  const words = plan.splits * reducer.slots.length;
  const bytes = dtypeBytes(plan.dtype);
  return {
    dialect: 'cuda',
    name: `${plan.summary}, merge`,
    entry,
    source: lines(
      reducerPrelude(plan, reducer),
      `extern "C" __global__ void __launch_bounds__(${String(MERGE_THREADS)})`,
      `${entry}(${parameterList(params, plan.dtype)}) {`,
      `  const long long kept = ${plan.axis === 1 ? 'rowsI' : 'rowsJ'};`,
      `  const long long at = (long long)blockIdx.x * ${String(MERGE_THREADS)} + threadIdx.x;`,
      '  if (at >= kept * batch) return;',
      '  const long long layer = at / kept, row = at - layer * kept;',
      '  State s = empty();',
      '  #pragma unroll 1',
      `  for (int part = 0; part < ${String(plan.splits)}; ++part) {`,
      '    State t;',
      indent(stateWords(plan, reducer).load('t'), 4),
      '    merge(s, t);',
      '  }',
      indent(outputText(plan, reducer)),
      '}',
      '',
    ).concat('\n'),
    params,
    options: [],
    geometry: (scalars) => ({
      grid: [Math.ceil(resultRows(plan, scalars) / MERGE_THREADS), 1, 1],
      block: [MERGE_THREADS, 1, 1],
      sharedMemBytes: 0,
    }),
    cost: (scalars) => ({
      bytes: resultRows(plan, scalars) * (words + plan.width) * bytes,
      flops: resultRows(plan, scalars) * words,
    }),
  };
}
