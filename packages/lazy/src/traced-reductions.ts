import { outputsOf, type ReductionKind } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import {
  differentiable,
  failed,
  formulasOf,
  inSlicesOrNow,
  knownNow,
  pending,
  promisesTraced,
  shardsOf,
  writesTraced,
  type AppliedCall,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { own } from '@mercer/options';
import { commonExtent } from './extent.js';
import type { Input } from './input.js';
import { mappedInputs } from './mapped-inputs.js';
import { cotangentInput, derivativesBy, inputAt } from './derivatives.js';
import type { ReductionOptions } from './call-options.js';
import type { TracedReductions } from './reductions.js';
import type { OutDType } from './reduction-types.js';
import { asResults, checkOutDtype, NO_RESULTS, type Results } from './results.js';
import { runDerivatives } from './run-derivatives.js';
import { bySlope, withSlopes, type WithSlopes } from './slopes-beside.js';
import { tablesApart } from './tables-apart.js';
import { usedBy, type JointTask, type Reductions, type Task } from './task.js';
import {
  isDifferentiated,
  mapped,
  tensorsApart,
  untracedUnless,
  type InputsApart,
} from './traced-inputs.js';

type Tensors = readonly [tensors: readonly Tensor[]];

/** Kinds whose results do not change with small changes of the data. */
const CONSTANT: readonly ReductionKind[] = [
  'ArgMin',
  'ArgMax',
  'ArgKMin',
  'ArgKMax',
  'Any',
  'All',
  'Count',
];

/**
 * See {@link TracedReductions}.
 *
 * @throws MercerError NOT_DIFFERENTIABLE where results are to be written to tensors that exist
 */
export const tracedReductions: TracedReductions = (task, options, compute) => {
  const { what, reductions } = task;
  const given = own(options ?? {}, 'outDtype', 'dtype', 'out', 'signal');
  const { outDtype, signal } = given;
  if (outDtype !== undefined) {
    const { dtype = given.dtype ?? 'float32' } = commonExtent(what, task.inputs);
    checkOutDtype(what, outDtype, reductions, dtype);
    // Derivatives need the values as they were computed: these are cast.
    const computed = tracedReductions(task, { ...options, outDtype: undefined }, compute);
    const cast = castValues(reductions, outDtype);
    return promisesTraced(computed instanceof Promise ? computed.then(cast) : cast(computed));
  }
  if (given.out !== undefined) {
    throw writesTraced(what, 'the option out overwrites a tensor');
  }
  const inputs = untracedUnless(usedBy(formulasOf(reductions)), task.inputs);
  const apart = tensorsApart(inputs);
  const isConstant = reductions.every(({ kind }) => CONSTANT.includes(kind));
  const variables = [...inputs.entries()].flatMap(([at, one]) =>
    isDifferentiated(one) ? [at] : [],
  );
  let found: WithSlopes | Promise<WithSlopes> | undefined;
  const whole = (): WithSlopes | Promise<WithSlopes> =>
    (found ??= inSlicesOrNow(withSlopes({ ...task, inputs: apart.inputs }, variables), signal));
  const over = (bound: readonly Input[]): JointTask | Promise<JointTask> => {
    const { names } = task;
    if (isConstant) return { what, reductions, names, inputs: bound };
    return mapped(whole(), (all) => ({ what, reductions: all.reductions, names, inputs: bound }));
  };
  const call = differentiable<(...args: Tensors) => Tensor[] | Promise<Tensor[]>, Tensors>(
    what,
    (tensors) => mapped(over(apart.bind(tensors)), (all) => compute(all, options)),
    isConstant ? 'constant' : ruleOf(what, apart, whole, options),
    ({ args: [tensors], mapped: [isMapped], size }) => {
      const bound = mappedInputs(apart, tensors, isMapped as readonly boolean[], size);
      if (bound === undefined) return undefined;
      return mapped(over(bound), (all) => tracedReductions(all, options, compute));
    },
  );
  return heardOf(() => call(apart.tensors));
};

/** A list of traced values, or its promise, of whose errors nobody has to hear. */
function heardOf(make: () => Tensor[] | Promise<Tensor[]>): Tensor[] | Promise<Tensor[]> {
  try {
    const made = make();
    return made instanceof Promise ? promisesTraced(made) : made;
  } catch (error) {
    return promisesTraced(failed(error));
  }
}

const castValues =
  (reductions: Reductions, dtype: OutDType) =>
  async (tensors: readonly Tensor[]): Promise<Tensor[]> => {
    const names = reductions.flatMap(outputsOf).map(({ name }) => name);
    const cast = tensors.map(async (one, at) => (names[at] === 'value' ? one.cast(dtype) : one));
    return Promise.all(cast);
  };

/** Gradients by the tensors of a call, undefined for what no formula reads. */
type Gradients = readonly (Value | undefined)[];

/** The rule of a task: what is wanted of the gradients is computed together. */
const ruleOf = (
  what: string,
  apart: InputsApart,
  whole: () => WithSlopes | Promise<WithSlopes>,
  options: ReductionOptions | undefined,
): DerivativeRule<Tensors> => ({
  broadcasts: true,
  vjp: (g, call) => {
    const cotangents = g as unknown as Gradients;
    let found: Gradients | Promise<Gradients> | undefined;
    const gradientAt = (at: number): Value | undefined => {
      const all = (found ??= mapped(whole(), (by) =>
        gradientsBy(what, by, apart, call, cotangents, options),
      ));
      if (!(all instanceof Promise)) return all[at];
      return promisesTraced(pending(all.then((every) => every[at]))) as Value;
    };
    return [call.args[0].map((_, at) => () => gradientAt(at))];
  },
});

/** The gradients that are wanted; not their promise where all are cotangents times slopes. */
function gradientsBy(
  what: string,
  { reductions, slopes }: WithSlopes,
  { places: placesOfTensors, bind }: InputsApart,
  { args: [tensors], result, wanted: [wanted] }: AppliedCall<Tensors>,
  cotangents: Gradients,
  options: ReductionOptions = {},
): Gradients | Promise<Gradients> {
  const inputs = bind(tensors);
  const results = asResults(reductions, result as unknown as readonly Tensor[]);
  const cotangentsOf = asResults(reductions, cotangents as readonly Tensor[]);
  const totals = tensors.map((): Value | undefined => undefined);
  const add = (place: number, share: Value): void => {
    const ownPlace = placesOfTensors[place] ?? 0;
    totals[ownPlace] = totals[ownPlace]?.add(share) ?? share;
  };
  const others: (() => Promise<void>)[] = [];
  for (const [at, reduction] of reductions.entries()) {
    const cotangent: Value | undefined = cotangentsOf[at]?.value;
    if (cotangent === undefined || CONSTANT.includes(reduction.kind)) continue;
    const places = [...usedBy(formulasOf([reduction]))].filter((place) => {
      const own = placesOfTensors[place];
      if (own === undefined || (wanted as readonly boolean[])[own] !== true) return false;
      const slope = at === 0 ? results[slopes.get(place) ?? -1]?.value : undefined;
      if (slope !== undefined) add(place, bySlope(cotangent, slope, inputAt({ inputs }, place)));
      return slope === undefined;
    });
    if (places.length === 0) continue;
    others.push(async () => {
      const task = tablesApart({ what, reduction, inputs });
      const found = results[at] ?? NO_RESULTS;
      const gradients = await passesOf(task, found, cotangent, places, options);
      for (const [n, place] of places.entries()) add(place, gradients[n] as Tensor);
    });
  }
  // Blocks are computed elsewhere than their inputs may lie, and gradients lie where those do.
  const atHome = (one: KnownValue | undefined, at: number): Value | undefined => {
    const home = tensors[at]?.device;
    return one === undefined || home === undefined || one.device === home ? one : one.to(home);
  };
  const known = totals.map(knownNow);
  if (others.length === 0 && known.every((one) => one !== undefined))
    return known.map(({ made }, at) => atHome(made as KnownValue | undefined, at));
  const inOrder = async (): Promise<Gradients> => {
    for (const work of others) await work();
    return (await Promise.all(totals.map((one) => Promise.resolve(one)))).map(atHome);
  };
  return inOrder();
}

/** The gradients by variables at some places that no slope gives: passes of their own. */
async function passesOf(
  task: Task,
  { value: values, index }: Results,
  cotangent: Value,
  places: readonly number[],
  options: ReductionOptions,
): Promise<readonly Tensor[]> {
  const { what, reduction } = task;
  const { ranges, debug, accumulate, sumScheme, fastMath } = own(
    options,
    'ranges',
    'debug',
    'accumulate',
    'sumScheme',
    'fastMath',
  );
  const [{ dim } = { dim: 1 }] = outputsOf(reduction);
  const seed = await cotangent.broadcastTo((values ?? index)?.shape ?? []);
  const whole = { task, cotangent: cotangentInput(what, task, dim, seed) };
  const saved = { values, indices: index as Tensor<'int32'> | undefined };
  const run = { ranges, debug, accumulate, sumScheme, fastMath, ...shardsOf(options) };
  const derivatives = await derivativesBy(what, whole, places, { ...run, saved }, []);
  const by = places.map((place) => inputAt(task, place));
  const { gradients } = await runDerivatives(what, derivatives, by, undefined, run);
  return gradients;
}
