import type { CudaHelper } from '../../emit/cuda-math.js';
import {
  type CudaKernel,
  programOf,
  withWorkspace,
  type KernelProgram,
} from '../../emitted-kernel.js';
import { cudaKernel } from '../../emit/cuda-kernel.js';
import { indent } from '../../emit/text.js';
import { blockRows } from './block.js';
import { firstStepText } from './first-step.js';
import { cudaMergeKernel, withMerge } from './merge-kernel.js';
import { cudaPairText } from './pair-text.js';
import {
  cudaPrelude,
  cudaReducerDialect,
  cudaRunningResult,
  cudaScalarDialect,
  spelling,
  type CudaRunningResult,
} from './text.js';
import { launchGrid, mapReduceCost, mapReduceParams } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import { reducersOf } from '../reducers/reducers-of.js';

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
  if (plan.splits === 1) return programOf(first);
  return withMerge(plan, running, first, cudaMergeKernel(plan, running));
}

/** The kernel that computes the formula, with its parameters but for the workspace. */
export function computingKernel(
  plan: CudaMapReducePlan,
  running: CudaRunningResult,
  { params, cost }: Pick<CudaKernel, 'params' | 'cost'>,
): CudaKernel {
  const pair = cudaPairText(plan);
  const body = firstStepText(plan, running, pair);
  const called = (['min', 'max'] as const).filter((helper) => running.called.has(helper));
  const helpers = new Set([...pair.helpers, ...called]);
  return cudaKernel({
    name: plan.summary,
    entry: 'map_reduce',
    params: plan.splits > 1 || plan.bins !== undefined ? withWorkspace(params, 'write') : params,
    list: spelling(plan),
    before: `${cudaPrelude(plan, running, helpers)}\n`,
    threads: plan.threads,
    resident: plan.resident,
    body: indent(body),
    grid: (scalars) => launchGrid(plan, scalars, blockRows(plan), plan.splits),
    ...(cost !== undefined && { cost }),
  });
}
