import type { Expr } from '@mercer/formula';
import {
  emitMap,
  planMap,
  type DType,
  type EmittedKernel,
  type MapPlan,
  type MapProblem,
} from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import { pointerAt, type CallSteps, type CallView } from './operation/call-steps.js';
import type { CallPointer } from './operation/known-call.js';
import type { CallPlan } from './operation/operation.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';

/** A map among the launches of a call: its inputs are those of the call, in their order. */
export interface MapStep extends Omit<MapProblem, 'results'> {
  readonly results: readonly { readonly expr: Expr; readonly to: CallView }[];
}

/**
 * Adds a map to a call. Its kernel is that of `example` where the map has no elements.
 *
 * @param numbers the parameters of a call, by their names in the map, of its options
 */
export function addMap(
  steps: CallSteps,
  { results, ...map }: MapStep,
  numbers: (options: never) => Readonly<Record<string, number>>,
  example?: MapProblem,
): Pick<CallPlan, 'holds' | 'scalars'> {
  const problem = {
    ...map,
    results: results.map(({ expr, to: { dtype, strides } }) => ({ expr, dtype, strides })),
  };
  const planned = planMap(example ?? problem, steps.device.limits);
  const { plan, scalars } = planned;
  const pointers: Record<string, CallPointer> = {};
  for (const [k, { index, offset }] of planned.inputs.entries()) {
    pointers[`x${k}`] = pointerAt(steps.input(index), offset);
  }
  for (const [r, { to }] of results.entries()) {
    const name = results.length === 1 ? 'out' : `out${r}`;
    pointers[name] = pointerAt(to, planned.outOffsets[r] ?? 0);
  }
  const { key, kernel } = mapKernel(plan);
  const values = results.length * sizeOfShape(map.shape);
  steps.addKernel(key, kernel, { values, pointers, scalars });
  return {
    // the formulas, whose ids are in the key
    holds: results.map(({ expr }) => expr),
    scalars: numbersFor(plan.parameters, numbers),
  };
}

/** The parameters of a call by their names in its kernel, which takes those with these names. */
export function numbersFor(
  names: readonly string[],
  numbers: (options: never) => Readonly<Record<string, number>>,
): CallPlan['scalars'] {
  if (names.length === 0) return undefined;
  return (options: never) => {
    const given = numbers(options);
    return Object.fromEntries(names.map((name, k) => [`p${k}`, given[name] ?? NaN]));
  };
}

/** Kernels of maps, with the formulas whose ids their keys name. */
interface KeptKernel {
  readonly kernel: EmittedKernel;
  readonly exprs: readonly Expr[];
}

/** Kernels by their first formula and key; those of a formula that nobody holds are forgotten with it. */
const kernels = new WeakMap<Expr, RecentMap<string, KeptKernel>>();

/** The kernel of a map, and a text that tells it from others while its formulas live. */
function mapKernel(plan: MapPlan): { readonly key: string; readonly kernel: EmittedKernel } {
  const exprs = plan.results.map(({ expr }) => expr);
  const dtypes: DType[] = plan.results.map(({ dtype }) => dtype);
  const ids = exprs.map(({ id }) => id).join(' ');
  const key = `map ${ids} ${JSON.stringify({ ...plan, results: dtypes })}`;
  const [first] = exprs as [Expr];
  let ofFormula = kernels.get(first);
  if (ofFormula === undefined) {
    ofFormula = new RecentMap<string, KeptKernel>(() => REMEMBERED_KERNELS);
    kernels.set(first, ofFormula);
  }
  let kept = ofFormula.get(key);
  if (kept === undefined) ofFormula.set(key, (kept = { kernel: emitMap(plan), exprs }));
  return { key, kernel: kept.kernel };
}
