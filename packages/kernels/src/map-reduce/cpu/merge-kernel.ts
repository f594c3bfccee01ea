import {
  type CpuKernel,
  type KernelProgram,
  programOf,
  type Scalars,
} from '../../emitted-kernel.js';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { cpp } from '../../emit/text.js';
import {
  cpuOutputText,
  cpuRowCounts,
  stateBytes,
  type CpuLaunchedPlan,
  cpuKernel,
} from './text.js';
import { launchTasks, mergeCost, resultRows } from '../params.js';
import type { RunningResult } from '../reducers/running-result.js';

/** A kernel that leaves running results of parts in the workspace, and one that merges them in order. */
export function withMergeKernel(
  plan: CpuLaunchedPlan,
  running: RunningResult,
  { compute, helpers }: { readonly compute: CpuKernel; readonly helpers: ReadonlySet<CpuHelper> },
): KernelProgram {
  const lanes = lanesOf(plan.level, plan.dtype);
  const vectors = (scalars: Scalars): number =>
    launchTasks(plan, scalars, lanes) * (scalars['batch'] ?? 0);
  const merge = cpuKernel(plan, running, {
    role: 'merge',
    helpers,
    text: () => mergeText(plan, running),
    tasks: vectors,
    cost: (scalars) => mergeCost(plan, running, resultRows(plan, scalars)),
  });
  return {
    ...programOf(compute, merge),
    workspaceBytes: (scalars) => vectors(scalars) * plan.splits * stateBytes(plan, running),
  };
}

/** The body of the function that merges the parts of each vector of rows in order, a vector a task. */
function mergeText(plan: CpuLaunchedPlan, running: RunningResult): string {
  return cpp`
    ${cpuRowCounts(plan)}
    const int64_t vectors = (kept + LANES - 1) / LANES;
    UNUSED const V count = splat((T)reduced);
    for (int64_t task = begin; task < end; task++) {
      const int64_t layer = task / vectors, first = task % vectors * LANES;
      State total = empty();
      for (int64_t part = 0; part < ${plan.splits}; part++) {
        State t;
        const int64_t place = (layer * ${plan.splits} + part) * vectors + first / LANES;
        __builtin_memcpy(&t, g.workspace + place * sizeof(State), sizeof(State));
        merge(total, t);
      }
      ${cpuOutputText(running, 'total', 'first', 'kept')}
    }
  `;
}
