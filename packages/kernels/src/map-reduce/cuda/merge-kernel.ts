import { dtypeBytes } from '../../dtype.js';
import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cpp, indent } from '../../emit/text.js';
import {
  type CudaKernel,
  programOf,
  withWorkspace,
  type KernelProgram,
} from '../../emitted-kernel.js';
import {
  allOutputsText,
  cudaPrelude,
  spelling,
  stateWords,
  type CudaRunningResult,
} from './text.js';
import type { LaunchedPlan } from '../launched-plan.js';
import { mapReduceParams, mergeCost, resultRows, rowNames } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import { wordsOf } from '../reducers/reducer.js';

const THREADS = 128;
/** Words that a thread waits for at a time. */
const LOADED_WORDS = 16;

/** Merges the parts of every kept row in order. */
export function cudaMergeKernel(
  plan: LaunchedPlan & Pick<CudaMapReducePlan, 'splits'>,
  running: CudaRunningResult,
): CudaKernel {
  const unrolled = Math.max(
    1,
    Math.floor(LOADED_WORDS / wordsOf(running.accumulators, plan.dtype)),
  );
  return mergeFrame(plan, running, {
    states: 1,
    body: cpp`
      const long long kept = ${rowNames(plan.axis).kept};
      ${MERGE_PLACE}
      if (place >= kept * batch) return;
      const long long layer = place / kept, row = place - layer * kept;
      State total = empty();
      #pragma unroll ${unrolled}
      for (int part = 0; part < ${plan.splits}; ++part) {
        State t;
        ${stateWords(plan, running).load('t')}
        merge(total, t);
      }
      ${allOutputsText(plan, running, 'total')}
    `,
  });
}

/** A kernel that leaves `states` running results of each kept row and part in the workspace, and one that merges them. */
export function withMerge(
  plan: LaunchedPlan & Pick<CudaMapReducePlan, 'splits'>,
  { accumulators }: CudaRunningResult,
  first: CudaKernel,
  merge: CudaKernel,
  states = 1,
): KernelProgram {
  const words = plan.splits * states * wordsOf(accumulators, plan.dtype);
  return {
    ...programOf(first, merge),
    workspaceBytes: (scalars) => resultRows(plan, scalars) * words * dtypeBytes(plan.dtype),
  };
}

/** The number of a thread among all. */
export const MERGE_PLACE = `const long long place = (long long)blockIdx.x * ${THREADS} + threadIdx.x;`;

/** What differs between kernels that merge parts. */
interface MergeBody {
  /** Running results of a kept row, each of a thread. */
  readonly states: number;
  readonly body: string;
}

/** A kernel that merges parts of kept rows: one thread for each running result. */
export function mergeFrame(
  plan: LaunchedPlan & Pick<CudaMapReducePlan, 'splits'>,
  running: CudaRunningResult,
  { states, body }: MergeBody,
): CudaKernel {
  return cudaKernel({
    name: `${plan.summary}, merge`,
    entry: 'map_reduce_merge',
    params: withWorkspace(mapReduceParams(plan), 'read'),
    list: spelling(plan),
    before: `${cudaPrelude(plan, running)}\n`,
    threads: THREADS,
    body: indent(body),
    grid: (scalars) => Math.ceil((resultRows(plan, scalars) * states) / THREADS),
    cost: (scalars) => mergeCost(plan, running, resultRows(plan, scalars) * states),
  });
}
