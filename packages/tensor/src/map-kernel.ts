import type { Expr } from '@mercer/formula';
import {
  emitMap,
  groupSegments,
  otherWalks,
  planMap,
  planSegments,
  segmentNames,
  type DType,
  type EmittedKernel,
  type MapPlan,
  type MapProblem,
  type PlannedMap,
} from '@mercer/kernels';
import { own } from '@mercer/options';
import { sizeOfShape } from './checked-size.js';
import {
  pointerAt,
  type CallSteps,
  type CallView,
  type KeyedKernel,
} from './operation/call-steps.js';
import type { CallPointer } from './operation/known-call.js';
import type { CallPlan } from './operation/operation.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';
import { broadcastLayout } from './views.js';

/** A map among the launches of a call. */
export interface MapStep extends Omit<MapProblem, 'results'> {
  /** Where its inputs are; default: they are those of the call, in their order. */
  readonly views?: readonly CallView[] | undefined;
  readonly results: readonly { readonly expr: Expr; readonly to: CallView }[];
}

/**
 * Adds a map to a call. Its kernel is that of `example` where the map has no elements.
 *
 * @param numbers the parameters of a call, by their names in the map, of its options
 */
export function addMap(
  steps: CallSteps,
  step: MapStep,
  numbers: (options: never) => Readonly<Record<string, number>>,
  example?: MapProblem,
): Pick<CallPlan, 'holds' | 'scalars'> {
  return addMaps(steps, [step], numbers, example);
}

/** The same for maps of the same formulas, which share kernels where they lie alike. @param example of a single one */
export function addMaps(
  steps: CallSteps,
  maps: readonly MapStep[],
  numbers: (options: never) => Readonly<Record<string, number>>,
  example?: MapProblem,
): Pick<CallPlan, 'holds' | 'scalars'> {
  const planned = maps.map((step) => planMap(example ?? problemOf(step), steps.device.limits));
  for (const places of groupSegments(planned, steps.device.limits)) {
    const { plan, scalars } = planSegments(places.map((place) => planned[place] as PlannedMap));
    const pointers: Record<string, CallPointer> = {};
    let values = 0;
    for (const [s, nameOf] of segmentNames(plan).entries()) {
      const step = maps[places[s] as number] as MapStep;
      const own = pointersOf(steps, step, planned[places[s] as number] as PlannedMap);
      for (const [name, pointer] of Object.entries(own)) pointers[nameOf(name)] = pointer;
      values += step.results.length * sizeOfShape(step.shape);
    }
    const { key, kernel } = mapKernel(plan);
    const others = (): readonly KeyedKernel[] => otherWalks(plan).map(mapKernel);
    steps.addKernel(key, kernel, { values, pointers, scalars }, others);
  }
  return {
    // the formulas, whose ids are in the keys
    holds: maps[0]?.results.map(({ expr }) => expr),
    scalars: numbersFor(planned[0]?.plan.parameters ?? [], numbers),
  };
}

function problemOf({ results, views: _, ...map }: MapStep): MapProblem {
  return {
    ...map,
    results: results.map(({ expr, to: { dtype, strides } }) => ({ expr, dtype, strides })),
  };
}

/** Where a map reads and writes, by the names of its kernel's parameters. */
function pointersOf(
  steps: CallSteps,
  step: MapStep,
  { inputs, outOffsets }: PlannedMap,
): Record<string, CallPointer> {
  const { results } = step;
  const { views } = own(step, 'views');
  const pointers: Record<string, CallPointer> = {};
  for (const [k, { index, offset }] of inputs.entries()) {
    pointers[`x${k}`] = pointerAt(views?.[index] ?? steps.input(index), offset);
  }
  for (const [r, { to }] of results.entries()) {
    const name = results.length === 1 ? 'out' : `out${r}`;
    pointers[name] = pointerAt(to, outOffsets[r] ?? 0);
  }
  return pointers;
}

/** What a formula of a call is applied to. */
export interface FormulaViews {
  /** Views that broadcast to the shape of `to`, by the names that the formula knows them by. */
  readonly inputs: Readonly<Record<string, CallView>>;
  readonly to: CallView;
  /** The same in every call like this one. */
  readonly parameters?: Readonly<Record<string, number>> | undefined;
  /** Axes, counted from the first or, where negative, from the last. */
  readonly indices?: Readonly<Record<string, number>> | undefined;
  readonly computesIn?: MapProblem['computesIn'];
}

/**
 * Adds to a call a formula that is applied to every element of views. The formula must live as long as the call is remembered: that is
 * of constants.
 */
export function addFormula(steps: CallSteps, expr: Expr, views: FormulaViews): void {
  const {
    inputs,
    to,
    parameters = {},
    indices = {},
    computesIn,
  } = own(views, 'inputs', 'to', 'parameters', 'indices', 'computesIn');
  const { shape } = to;
  if (sizeOfShape(shape) === 0) return;
  const axes = Object.entries(indices).map(([name, axis]): [string, number] => [
    name,
    axis < 0 ? axis + shape.length : axis,
  ]);
  addMap(
    steps,
    {
      results: [{ expr, to }],
      shape,
      inputs: Object.entries(inputs).map(([name, view]) => ({
        name,
        dtype: view.dtype,
        strides: broadcastLayout(view, shape).strides,
      })),
      views: Object.values(inputs),
      parameters,
      indices: Object.fromEntries(axes),
      computesIn,
    },
    () => parameters,
  );
}

/** The parameters of a call by their names in its kernel, which takes those with these names. */
export function numbersFor(
  names: readonly string[],
  numbers: (options: never) => Readonly<Record<string, number>>,
): CallPlan['scalars'] {
  if (names.length === 0) return undefined;
  const pairs = names.map((name, k) => ({ name, parameter: `p${k}` }));
  return (options: never) => {
    const given = numbers(options);
    const taken: Record<string, number> = {};
    for (const { name, parameter } of pairs) taken[parameter] = given[name] ?? NaN;
    return taken;
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
function mapKernel(plan: MapPlan): KeyedKernel {
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
