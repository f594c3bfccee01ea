import { indent, lines } from '../../emit/indent.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import { withWorkspace } from '../../pairwise/program.js';
import { cudaPrelude, parameterList, stateWords } from '../cuda-text.js';
import { mapReduceParams, mergeCost, resultRows, rowNames } from '../params.js';
import type { Reducer } from '../reducers/reducer.js';
import type { RunningResult } from '../reducers/running-result.js';
import { columnThreads, columnsOfThread } from './cuda-column-threads.js';
import { storeColumns } from './cuda-columns-text.js';
import type { CudaWidePlan } from './wide-plan-types.js';

const THREADS = 128;

/** Merges the parts of every kept row and thread of columns in order. */
export function cudaColumnsMerge(
  plan: CudaWidePlan,
  reducer: Reducer,
  running: RunningResult,
): CudaKernel {
  const entry = 'map_reduce_merge';
  const threads = columnThreads(plan);
  const params = withWorkspace(mapReduceParams(plan, reducer), 'read');
  return {
    dialect: 'cuda',
    name: `${plan.summary}, merge`,
    entry,
    source: lines(
      cudaPrelude(plan, running),
      `extern "C" __global__ void __launch_bounds__(${String(THREADS)})`,
      `${entry}(${parameterList(params, plan.dtype)}) {`,
      `  const long long kept = ${rowNames(plan.axis).kept}, states = kept * ${String(threads)};`,
      `  const long long place = (long long)blockIdx.x * ${String(THREADS)} + threadIdx.x;`,
      '  if (place >= states * batch) return;',
      '  const long long layer = place / states, state = place - layer * states;',
      `  const long long row = state / ${String(threads)};`,
      `  const int columnThread = (int)(state - row * ${String(threads)});`,
      indent(columnsOfThread(plan)),
      '  State s = empty();',
      '  #pragma unroll 4',
      `  for (int part = 0; part < ${String(plan.splits)}; ++part) {`,
      '    State t;',
      '    {',
      '      const long long kept = states, row = state;',
      indent(stateWords(plan, running).load('t'), 6),
      '    }',
      '    merge(s, t);',
      '  }',
      indent(storeColumns(plan, reducer)),
      '}',
      '',
    ).concat('\n'),
    params,
    options: [],
    geometry: (scalars) => ({
      grid: [Math.ceil((resultRows(plan, scalars) * threads) / THREADS), 1, 1],
      block: [THREADS, 1, 1],
      sharedMemBytes: 0,
    }),
    cost: (scalars) => mergeCost(plan, running, resultRows(plan, scalars) * threads),
  };
}
