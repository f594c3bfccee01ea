import type { CudaHelper } from '../../emit/cuda-math.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import { dtypeBytes } from '../../dtype.js';
import { indent, lines } from '../../emit/indent.js';
import { withWorkspace, type KernelProgram } from '../../kernel-program.js';
import { blockRows } from './block.js';
import { firstStepText } from './first-step.js';
import { cudaMergeKernel } from './merge-kernel.js';
import { cudaPairText } from './pair-text.js';
import {
  cudaPrelude,
  cudaReducerDialect,
  cudaRunningResult,
  cudaScalarDialect,
  signature,
  type CudaRunningResult,
} from './text.js';
import { launchTasks, mapReduceCost, mapReduceParams, resultRows } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import { reducersOf } from '../reducers/reducers-of.js';
import { wordsOf } from '../reducers/state-words.js';

const MAX_GRID_Z = 65535;

/**
 * The kernels of a map-reduce on a GPU: rows of a thread in registers, tiles of the reduced rows in shared
 * memory. Where they are split, blocks leave running results in the workspace, and a second kernel
 * merges them in order.
 */
export function emitCudaMapReduce(plan: CudaMapReducePlan): KernelProgram {
  const isSingle = (plan.further ?? []).length === 0;
  const called = new Set<CudaHelper>();
  const dialect = isSingle ? cudaScalarDialect : cudaReducerDialect;
  const reducers = reducersOf(plan, dialect(plan, called));
  const running = cudaRunningResult(reducers, called);
  const first = computingKernel(plan, running, {
    params: mapReduceParams(plan),
    cost: (scalars) => mapReduceCost(plan, scalars),
  });
  if (plan.splits === 1) return { steps: [{ kernel: first }], workspaceBytes: () => 0 };
  const bytes = plan.splits * wordsOf(running.accumulators, plan.dtype) * dtypeBytes(plan.dtype);
  return {
    steps: [{ kernel: first }, { kernel: cudaMergeKernel(plan, running) }],
    workspaceBytes: (scalars) => resultRows(plan, scalars) * bytes,
  };
}

/** The kernel that computes the formula, with its parameters but for the workspace. */
export function computingKernel(
  plan: CudaMapReducePlan,
  running: CudaRunningResult,
  { params, cost }: Pick<CudaKernel, 'params' | 'cost'>,
): CudaKernel {
  const entry = 'map_reduce';
  const split = plan.splits > 1;
  const pair = cudaPairText(plan);
  const all = split ? withWorkspace(params, 'write') : params;
  const body = firstStepText(plan, running, pair);
  const called = (['min', 'max'] as const).filter((helper) => running.called.has(helper));
  const helpers = new Set([...pair.helpers, ...called]);
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry,
    source: lines(
      cudaPrelude(plan, running, helpers),
      `extern "C" __global__ void __launch_bounds__(${plan.threads}, ${plan.resident})`,
      `${entry}(${signature(all, plan.dtype)}) {`,
      indent(body),
      '}',
      '',
    ).concat('\n'),
    params: all,
    options: [],
    geometry: (scalars) => {
      const { batch = 0 } = scalars;
      const blocks = launchTasks(plan, scalars, blockRows(plan));
      return {
        grid: [blocks, plan.splits, Math.min(batch, MAX_GRID_Z)],
        block: [plan.threads, 1, 1],
        sharedMemBytes: 0,
      };
    },
    ...(cost !== undefined && { cost }),
  };
}
