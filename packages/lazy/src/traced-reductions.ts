import { outputsOf, type ReductionKind } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import {
  differentiable,
  formulasOf,
  notDifferentiable,
  pending,
  promisesTraced,
  type AppliedCall,
  type DerivativeRule,
  type Share,
  type Value,
} from '@mercer/tensor/operation';
import { addTensors } from './add-tensors.js';
import type { CallOptions } from './call-options.js';
import { cotangentInput, derivativesBy, inputAt } from './derivatives.js';
import { asResults } from './results.js';
import { runDerivatives } from './run-derivatives.js';
import { tablesApart } from './tables-apart.js';
import { usedBy, type JointTask } from './task.js';
import { tensorsApart, type InputsApart } from './traced-inputs.js';

/** Options of a reduction. */
export type ReductionOptions = CallOptions & { readonly out?: unknown };

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
 * The results of a task with traced values among its inputs.
 *
 * @param compute computes a task whose inputs are tensors, or data of the host
 * @throws MercerError NOT_DIFFERENTIABLE where results are to be written to tensors that exist
 */
export function tracedReductions(
  task: JointTask,
  options: ReductionOptions | undefined,
  compute: (task: JointTask) => Tensor[] | Promise<Tensor[]>,
): Promise<Tensor[]> {
  const { what, reductions, inputs } = task;
  if (options?.out !== undefined) {
    throw notDifferentiable(what, 'the option out overwrites a tensor');
  }
  const apart = tensorsApart(inputs);
  const call = differentiable<(...args: Tensors) => Tensor[] | Promise<Tensor[]>, Tensors>(
    what,
    (tensors) => compute({ ...task, inputs: apart.bind(tensors) }),
    reductions.every(({ kind }) => CONSTANT.includes(kind))
      ? 'constant'
      : ruleOf(task, apart, options),
  );
  return promisesTraced(Promise.resolve(call(apart.tensors)));
}

/** The rule of a task: what is wanted of the gradients is computed together, as `gradient` computes one. */
const ruleOf = (
  task: Omit<JointTask, 'inputs'>,
  apart: InputsApart,
  options: ReductionOptions | undefined,
): DerivativeRule<Tensors> => ({
  vjp: (g, call) => {
    const cotangents = g as unknown as readonly (Value | undefined)[];
    let gradients: Promise<readonly (Tensor | undefined)[]> | undefined;
    const shareAt =
      (at: number): Share =>
      () => {
        gradients ??= gradientsBy(task, apart, call, cotangents, options);
        return promisesTraced(pending(gradients.then((all) => all[at]))) as unknown as Value;
      };
    return [call.args[0].map((_, at) => shareAt(at))];
  },
});

/** The gradients by the tensors of a call that are wanted, undefined for what no formula reads. */
async function gradientsBy(
  { what, reductions }: Omit<JointTask, 'inputs'>,
  { places: placesOfTensors, bind }: InputsApart,
  { args: [tensors], result, wanted: [wanted] }: AppliedCall<Tensors>,
  cotangents: readonly (Value | undefined)[],
  { ranges, debug }: ReductionOptions = {},
): Promise<readonly (Tensor | undefined)[]> {
  const inputs = bind(tensors);
  const isWanted = (place: number): boolean => {
    const own = placesOfTensors[place];
    return own !== undefined && (wanted as readonly boolean[])[own] === true;
  };
  const results = asResults(reductions, result as unknown as readonly Tensor[]);
  const upstream = asResults(
    reductions,
    (await Promise.all(cotangents.map((one) => Promise.resolve(one)))) as readonly Tensor[],
  );
  const totals = tensors.map((): Tensor | undefined => undefined);
  for (const [at, reduction] of reductions.entries()) {
    const cotangent = upstream[at]?.value;
    if (cotangent === undefined || CONSTANT.includes(reduction.kind)) continue;
    const places = [...usedBy(formulasOf([reduction]))].filter(isWanted);
    if (places.length === 0) continue;
    const task = tablesApart({ what, reduction, inputs });
    const [{ dim } = { dim: 1 }] = outputsOf(reduction);
    const whole = { task, cotangent: cotangentInput(what, task, dim, cotangent) };
    const { value: values, index } = results[at] ?? {};
    const saved = { values, indices: index as Tensor<'int32'> | undefined };
    const derivatives = await derivativesBy(what, whole, places, { ranges, debug, saved }, []);
    const by = places.map((place) => inputAt(task, place));
    const run = { ranges, debug };
    const { gradients } = await runDerivatives(what, derivatives, by, undefined, run);
    for (const [n, place] of places.entries()) {
      const own = placesOfTensors[place] ?? 0;
      const [before, gradient] = [totals[own], gradients[n] as Tensor];
      totals[own] = before === undefined ? gradient : await addTensors(before, gradient, {});
    }
  }
  return totals;
}
