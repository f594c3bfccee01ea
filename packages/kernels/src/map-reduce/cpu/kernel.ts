import type { Steps } from '@mercer/formula';
import {
  type CpuKernel,
  programOf,
  withWorkspace,
  type KernelProgram,
} from '../../emitted-kernel.js';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { mapReduceProgramSteps } from '../../interpret/map-reduce-program.js';
import { cpuFirstStep, cpuPairText } from './first-step.js';
import { withMergeKernel } from './merge-kernel.js';
import { cpuReducerDialect, cpuRowsDialect, cpuSourceText } from './text.js';
import { launchTasks, mapReduceCost, mapReduceParams } from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';
import { reducersOf } from '../reducers/reducers-of.js';
import { runningResult, type RunningResult } from '../reducers/running-result.js';

const ENTRY = 'mercer_map_reduce';

/**
 * The host kernels of a map-reduce: vectors of kept rows, tiles of reduced rows. Where few vectors would
 * leave cores idle, tasks leave running results of parts in the workspace, and a second kernel merges
 * them in order.
 */
export function* emitCpuMapReduce(plan: CpuMapReducePlan): Steps<KernelProgram> {
  const helpers = new Set<CpuHelper>();
  const isSingle = (plan.further ?? []).length === 0;
  const dialect = isSingle ? cpuRowsDialect : cpuReducerDialect;
  const reducers = reducersOf(plan, dialect(plan, helpers));
  const running = runningResult(reducers);
  const params = mapReduceParams(plan);
  const compute = computingKernel(plan, running, helpers, {
    params,
    cost: (scalars) => mapReduceCost(plan, scalars),
  });
  yield;
  if (plan.splits === 1) {
    return programOf({ ...compute, program: yield* mapReduceProgramSteps(plan) });
  }
  return withMergeKernel(plan, running, { compute, params, helpers });
}

function sourceText(
  plan: CpuMapReducePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
  params: CpuKernel['params'],
): string {
  const pair = cpuPairText(plan);
  pair.helpers.forEach((helper) => helpers.add(helper));
  const text = cpuFirstStep(plan, running, pair);
  const scratch = running.inMemory && plan.splits === 1 ? 'scratch' : undefined;
  return cpuSourceText(plan, running, { entry: ENTRY, helpers, params, text, scratch });
}

/** The kernel that computes the formula, with its parameters but for the workspace; `helpers` are those of the running result. */
export function computingKernel(
  plan: CpuMapReducePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
  rest: Pick<CpuKernel, 'params' | 'cost'>,
): CpuKernel {
  const params = plan.splits > 1 ? withWorkspace(rest.params, 'write') : rest.params;
  const cost = Object.hasOwn(rest, 'cost') ? rest.cost : undefined;
  const rows = plan.keptVectors * lanesOf(plan.level, plan.dtype);
  return {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source: plan.interpreted === true ? '' : sourceText(plan, running, helpers, params),
    params,
    options: [],
    geometry: (scalars) => ({
      tasks: launchTasks(plan, scalars, rows) * plan.splits * (scalars['batch'] ?? 0),
      chunk: 1,
      scratchBytes: 0,
    }),
    ...(cost !== undefined && { cost }),
  };
}
