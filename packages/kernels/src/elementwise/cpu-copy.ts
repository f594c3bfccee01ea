import { upTo } from '../emit/text.js';
import { type BuiltinKernel, type Scalars, scalar } from '../emitted-kernel.js';
import { elementNumber } from './element-type.js';
import { int64 } from '../kernel-param.js';
import { MAX_COPY_RANK } from './collapse-dims.js';
import { copyCost, copyEntry, copyPointers, dimPrefixes, elementCount } from './copy-params.js';
import type { CopyPlan, ElementsPlan } from './plan-copy.js';
import { CPU_TASK_ELEMENTS } from './strided-text.js';

const TILE = 64;

/** A copy, a cast or a fill as a built-in function. */
export function cpuCopyKernel(plan: ElementsPlan): BuiltinKernel {
  const { names, constants } = dimensions(plan);
  const own = ownNumbers(plan);
  return {
    dialect: 'builtin',
    name: copyEntry(plan).replace('mercer_', ''),
    entry: plan.family,
    params: [...copyPointers(plan), ...[...Object.keys(own), ...names].map(int64)],
    constants: { ...own, ...constants },
    geometry: (scalars) =>
      plan.mode === 'tiled'
        ? { tasks: tiles(plan, scalars), chunk: 4, scratchBytes: 0 }
        : {
            tasks: Math.ceil(elementCount(plan, scalars) / CPU_TASK_ELEMENTS),
            chunk: 1,
            scratchBytes: 0,
          },
    cost: (scalars) => copyCost(plan, scalars),
  };
}

function ownNumbers(plan: ElementsPlan): Scalars {
  const { to, rank } = plan;
  if (plan.family === 'fill') return { type: elementNumber(to), rank };
  const tiled = +(plan.mode === 'tiled');
  return { from: elementNumber(plan.from), to: elementNumber(to), tiled, rank };
}

function tiles({ rank }: CopyPlan, scalars: Scalars): number {
  const planes = upTo(rank - 2).reduce((n, i) => n * scalar(scalars, `n${i}`), 1);
  const across = Math.ceil(scalar(scalars, `n${rank - 1}`) / TILE);
  return planes * across * Math.ceil(scalar(scalars, `n${rank - 2}`) / TILE);
}

/**
 * The numbers that describe eight dimensions, by prefix outermost first, and those that no launch passes: extents 1 and strides 0 of dimensions
 * that the plan has not, and the strides 1 of a linear one, whose extent is `count`.
 */
function dimensions(plan: ElementsPlan): {
  readonly names: readonly string[];
  readonly constants: Scalars;
} {
  const names: string[] = [];
  const constants: Record<string, number> = {};
  for (const prefix of dimPrefixes(plan)) {
    for (const i of upTo(MAX_COPY_RANK)) {
      const isLinear = plan.mode === 'linear' && i === 0;
      const name = isLinear && prefix === 'n' ? 'count' : `${prefix}${i}`;
      names.push(name);
      if (i >= plan.rank) constants[name] = prefix === 'n' ? 1 : 0;
      else if (isLinear && prefix !== 'n') constants[name] = 1;
    }
  }
  return { names, constants };
}
