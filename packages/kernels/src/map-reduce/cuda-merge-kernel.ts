import { indent, lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { withWorkspace } from '../pairwise/program.js';
import { allOutputsText, cudaPrelude, parameterList, stateWords } from './cuda-text.js';
import { mapReduceParams, mergeCost, resultRows, rowNames } from './params.js';
import type { Reducer } from './reducers/reducer.js';
import { wordsOf } from './reducers/state-words.js';
import type { RunningResult } from './reducers/running-result.js';
import type { CudaMapReducePlan, LaunchedPlan } from './plan.js';

const THREADS = 128;
/** Words that a thread waits for at a time. */
const LOADED_WORDS = 16;

/** Merges the parts of every kept row in order. */
export function cudaMergeKernel(
  plan: LaunchedPlan & Pick<CudaMapReducePlan, 'splits'>,
  reducer: Reducer,
  running: RunningResult,
): CudaKernel {
  const entry = 'map_reduce_merge';
  const together = Math.max(1, Math.floor(LOADED_WORDS / wordsOf(running.slots, plan.dtype)));
  const params = withWorkspace(mapReduceParams(plan, reducer), 'read');
  return {
    dialect: 'cuda',
    name: `${plan.summary}, merge`,
    entry,
    source: lines(
      cudaPrelude(plan, running),
      `extern "C" __global__ void __launch_bounds__(${String(THREADS)})`,
      `${entry}(${parameterList(params, plan.dtype)}) {`,
      `  const long long kept = ${rowNames(plan.axis).kept};`,
      `  const long long place = (long long)blockIdx.x * ${String(THREADS)} + threadIdx.x;`,
      '  if (place >= kept * batch) return;',
      '  const long long layer = place / kept, row = place - layer * kept;',
      '  State total = empty();',
      `  #pragma unroll ${String(together)}`,
      `  for (int part = 0; part < ${String(plan.splits)}; ++part) {`,
      '    State t;',
      indent(stateWords(plan, running).load('t'), 4),
      '    merge(total, t);',
      '  }',
      indent(allOutputsText(plan, running, 'total')),
      '}',
      '',
    ).concat('\n'),
    params,
    options: [],
    geometry: (scalars) => ({
      grid: [Math.ceil(resultRows(plan, scalars) / THREADS), 1, 1],
      block: [THREADS, 1, 1],
      sharedMemBytes: 0,
    }),
    cost: (scalars) => mergeCost(plan, running, resultRows(plan, scalars)),
  };
}
