import { upTo } from '../emit/indent.js';
import type { BuiltinKernel, Scalars } from '../emitted-kernel.js';
import { elementNumber } from '../interpret/element-types.js';
import { int64 } from '../kernel-param.js';
import { copyCost, copyEntry, copyPointers, elementCount, scalar } from './copy-params.js';
import { MAX_COPY_RANK, type CopyPlan } from './copy-plan.js';
import type { FillPlan } from './fill-plan.js';
import { CPU_TASK_ELEMENTS } from './cpu-spans.js';

const TILE = 64;

/** A copy or cast as a built-in function. */
export function cpuCopyKernel(plan: CopyPlan): BuiltinKernel {
  const { from, to, mode, rank } = plan;
  const { names, constants } = dimensions(plan, { n: 1, s: 0, d: 0 });
  const own = {
    from: elementNumber(from),
    to: elementNumber(to),
    tiled: +(mode === 'tiled'),
    rank,
  };
  return {
    dialect: 'builtin',
    name: copyEntry(plan).replace('mercer_', ''),
    entry: 'copy',
    params: [...copyPointers(plan), ...[...Object.keys(own), ...names].map(int64)],
    constants: { ...own, ...constants },
    geometry: (scalars) => ({
      tasks: mode === 'tiled' ? tiles(plan, scalars) : elementTasks(plan, scalars),
      chunk: mode === 'tiled' ? 4 : 1,
      scratchBytes: 0,
    }),
    cost: (scalars) => copyCost(plan, scalars),
  };
}

/** How many tasks visit the elements along the last dimension. */
export const elementTasks = (plan: CopyPlan | FillPlan, scalars: Scalars): number =>
  Math.ceil(elementCount(plan, scalars) / CPU_TASK_ELEMENTS);

function tiles({ rank }: CopyPlan, scalars: Scalars): number {
  const planes = upTo(rank - 2).reduce((n, i) => n * scalar(scalars, `n${i}`), 1);
  const across = Math.ceil(scalar(scalars, `n${rank - 1}`) / TILE);
  return planes * across * Math.ceil(scalar(scalars, `n${rank - 2}`) / TILE);
}

/**
 * The numbers that describe eight dimensions, by prefix outermost first, and those that no launch passes: of dimensions that the plan has not
 * (`none`), and the strides 1 of a linear one, whose extent is `count`.
 */
export function dimensions(
  { mode, rank }: CopyPlan | FillPlan,
  none: Scalars,
): { readonly names: readonly string[]; readonly constants: Scalars } {
  const names: string[] = [];
  const constants: Record<string, number> = {};
  for (const [prefix, value] of Object.entries(none)) {
    for (const i of upTo(MAX_COPY_RANK)) {
      const isLinear = mode === 'linear' && i === 0;
      const name = isLinear && prefix === 'n' ? 'count' : `${prefix}${i}`;
      names.push(name);
      if (i >= rank) constants[name] = value;
      else if (isLinear && prefix !== 'n') constants[name] = 1;
    }
  }
  return { names, constants };
}
