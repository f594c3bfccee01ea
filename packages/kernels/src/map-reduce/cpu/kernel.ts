import type { Steps } from '@mercer/formula/plan';
import { type CpuKernel, programOf, type KernelProgram } from '../../emitted-kernel.js';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { mapReduceProgramSteps } from '../../interpret/map-reduce-program.js';
import { cpuFirstStep, cpuPairText } from './first-step.js';
import { withMergeKernel } from './merge-kernel.js';
import { cpuReducerDialect, cpuRowsDialect, cpuKernel, type CpuKernelParts } from './text.js';
import { launchTasks, mapReduceCost } from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';
import { reducersOf } from '../reducers/reducers-of.js';
import { runningResult, type RunningResult } from '../reducers/running-result.js';

/**
 * The host kernels of a map-reduce: vectors of kept rows, tiles of reduced rows. Where few vectors would
 * leave cores idle, tasks leave running results of parts in the workspace, and a second kernel merges
 * them in order.
 */
export function* emitCpuMapReduce(plan: CpuMapReducePlan): Steps<KernelProgram> {
  const helpers = new Set<CpuHelper>();
  const isSingle = (plan.further ?? []).length === 0;
  const dialect = isSingle ? cpuRowsDialect : cpuReducerDialect;
  const running = runningResult(reducersOf(plan, dialect(plan, helpers)));
  const compute = computingKernel(plan, running, helpers, {
    cost: (scalars) => mapReduceCost(plan, scalars),
  });
  yield;
  if (plan.splits === 1) {
    return programOf({ ...compute, program: yield* mapReduceProgramSteps(plan) });
  }
  return withMergeKernel(plan, running, { compute, helpers });
}

/** The kernel that computes the formula; `helpers` are those of the running result. */
export function computingKernel(
  plan: CpuMapReducePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
  rest: Pick<CpuKernelParts, 'params' | 'cost' | 'scratchBytes'>,
): CpuKernel {
  const rows = plan.keptVectors * lanesOf(plan.level, plan.dtype);
  return cpuKernel(plan, running, {
    ...rest,
    role: 'compute',
    helpers,
    ...(running.inMemory && plan.splits === 1 && { scratch: 'void* scratch' }),
    text: () => {
      const pair = cpuPairText(plan);
      pair.helpers.forEach((helper) => helpers.add(helper));
      return cpuFirstStep(plan, running, pair);
    },
    tasks: (scalars) => launchTasks(plan, scalars, rows) * plan.splits * (scalars['batch'] ?? 0),
  });
}
