import { indent, lines } from '../../../emit/indent.js';
import type { CudaKernel } from '../../../emitted-kernel.js';
import { MERGE_PLACE, mergeFrame } from '../../cuda/merge-kernel.js';
import { stateWords, type CudaRunningResult } from '../../cuda/text.js';
import { rowNames } from '../../params.js';
import { columnThreads, columnsOfThread } from './column-threads.js';
import { storeColumns } from './columns-text.js';
import type { CudaPairTilePlan } from '../plan-types.js';

/** Merges the parts of every kept row and thread of columns in order. */
export function cudaColumnsMerge(plan: CudaPairTilePlan, running: CudaRunningResult): CudaKernel {
  const threads = columnThreads(plan);
  const state = plan.columns.length === 1 ? 's' : 'total';
  return mergeFrame(plan, running, {
    states: threads,
    body: lines(
      `const long long kept = ${rowNames(plan.axis).kept}, states = kept * ${threads};`,
      MERGE_PLACE,
      'if (place >= states * batch) return;',
      'const long long layer = place / states, state = place - layer * states;',
      `const long long row = state / ${threads};`,
      `const int columnThread = (int)(state - row * ${threads});`,
      columnsOfThread(plan),
      `State ${state} = empty();`,
      '#pragma unroll 4',
      `for (int part = 0; part < ${plan.splits}; ++part) {`,
      '  State t;',
      '  {',
      '    const long long kept = states, row = state;',
      indent(stateWords(plan, running).load('t'), 4),
      '  }',
      `  merge(${state}, t);`,
      '}',
      storeColumns(plan, running, state),
    ),
  });
}
