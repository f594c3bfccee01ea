import { outputsOf, type ReductionKind } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import {
  differentiable,
  formulasOf,
  pending,
  promisesTraced,
  shardsOf,
  writesTraced,
  type AppliedCall,
  type DerivativeRule,
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
import { asResults, checkOutDtype } from './results.js';
import { runDerivatives } from './run-derivatives.js';
import { bySlope, withSlopes, type WithSlopes } from './slopes-beside.js';
import { tablesApart } from './tables-apart.js';
import { usedBy, type JointTask, type Reductions } from './task.js';
import {
  isDifferentiated,
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
    return promisesTraced(pending(computed.then(castValues(reductions, outDtype))));
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
  let found: Promise<WithSlopes> | undefined;
  const whole = (): Promise<WithSlopes> =>
    (found ??= withSlopes({ ...task, inputs: apart.inputs }, variables, signal));
  const over = async (bound: readonly Input[]): Promise<JointTask> => {
    const all = isConstant ? reductions : (await whole()).reductions;
    return { ...task, reductions: all, inputs: bound };
  };
  const call = differentiable<(...args: Tensors) => Promise<Tensor[]>, Tensors>(
    what,
    async (tensors) => compute(await over(apart.bind(tensors)), options),
    isConstant ? 'constant' : ruleOf(what, apart, whole, options),
    ({ args: [tensors], mapped: [isMapped], size }) => {
      const bound = mappedInputs(apart, tensors, isMapped as readonly boolean[], size);
      if (bound === undefined) return undefined;
      const found = async (): Promise<Tensor[]> =>
        tracedReductions(await over(bound), options, compute);
      return promisesTraced(pending(found()));
    },
  );
  return promisesTraced(call(apart.tensors));
};

const castValues =
  (reductions: Reductions, dtype: OutDType) =>
  async (tensors: readonly Tensor[]): Promise<Tensor[]> => {
    const names = reductions.flatMap(outputsOf).map(({ name }) => name);
    const cast = tensors.map(async (one, at) => (names[at] === 'value' ? one.cast(dtype) : one));
    return Promise.all(cast);
  };

/** The rule of a task: what is wanted of the gradients is computed together. */
const ruleOf = (
  what: string,
  apart: InputsApart,
  whole: () => Promise<WithSlopes>,
  options: ReductionOptions | undefined,
): DerivativeRule<Tensors> => ({
  vjp: (g, call) => {
    const cotangents = g as unknown as readonly (Value | undefined)[];
    let gradients: Promise<readonly (Value | undefined)[]> | undefined;
    const gradientAt = async (at: number): Promise<Tensor | undefined> => {
      gradients ??= whole().then((all) => gradientsBy(what, all, apart, call, cotangents, options));
      return (await gradients)[at];
    };
    return [call.args[0].map((_, at) => () => promisesTraced(pending(gradientAt(at))) as never)];
  },
});

/** The gradients by the tensors of a call that are wanted, undefined for what no formula reads. */
async function gradientsBy(
  what: string,
  { reductions, slopes }: WithSlopes,
  { places: placesOfTensors, bind }: InputsApart,
  { args: [tensors], result, wanted: [wanted] }: AppliedCall<Tensors>,
  cotangents: readonly (Value | undefined)[],
  options: ReductionOptions = {},
): Promise<readonly (Value | undefined)[]> {
  const { ranges, debug, accumulate, sumScheme, fastMath } = own(
    options,
    'ranges',
    'debug',
    'accumulate',
    'sumScheme',
    'fastMath',
  );
  const inputs = bind(tensors);
  const results = asResults(reductions, result as unknown as readonly Tensor[]);
  const upstream = await Promise.all(cotangents.map((one) => Promise.resolve(one)));
  const cotangentsOf = asResults(reductions, upstream as readonly Tensor[]);
  const totals = tensors.map((): Value | undefined => undefined);
  const add = (place: number, share: Value): void => {
    const ownPlace = placesOfTensors[place] ?? 0;
    totals[ownPlace] = totals[ownPlace]?.add(share) ?? share;
  };
  for (const [at, reduction] of reductions.entries()) {
    const cotangent = cotangentsOf[at]?.value;
    if (cotangent === undefined || CONSTANT.includes(reduction.kind)) continue;
    const places = [...usedBy(formulasOf([reduction]))].filter((place) => {
      const own = placesOfTensors[place];
      if (own === undefined || (wanted as readonly boolean[])[own] !== true) return false;
      const slope = at === 0 ? results[slopes.get(place) ?? -1]?.value : undefined;
      if (slope !== undefined) add(place, bySlope(cotangent, slope, inputAt({ inputs }, place)));
      return slope === undefined;
    });
    if (places.length === 0) continue;
    const task = tablesApart({ what, reduction, inputs });
    const [{ dim } = { dim: 1 }] = outputsOf(reduction);
    const whole = { task, cotangent: cotangentInput(what, task, dim, cotangent) };
    const { value: values, index } = results[at] ?? {};
    const saved = { values, indices: index as Tensor<'int32'> | undefined };
    const run = { ranges, debug, accumulate, sumScheme, fastMath, ...shardsOf(options) };
    const derivatives = await derivativesBy(what, whole, places, { ...run, saved }, []);
    const by = places.map((place) => inputAt(task, place));
    const { gradients } = await runDerivatives(what, derivatives, by, undefined, run);
    for (const [n, place] of places.entries()) add(place, gradients[n] as Tensor);
  }
  // Blocks are computed elsewhere than their inputs may lie, and gradients lie where those do.
  return Promise.all(
    totals.map(async (one, at) => {
      if (one === undefined) return undefined;
      const [gradient, home] = [await Promise.resolve(one), tensors[at]?.device];
      return home === undefined || gradient.device === home ? gradient : gradient.to(home);
    }),
  );
}
