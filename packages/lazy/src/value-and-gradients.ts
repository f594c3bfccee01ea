import type { ReductionKind } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import type { ShardOptions, Tensor } from '@mercer/tensor';
import { LOAD_OPTIONS, SHARD_OPTIONS, shardsOf } from '@mercer/tensor/operation';
import { readOptions } from './call-options.js';
import { checkReduction } from './check-reduction.js';
import { cotangentInput, derivativesBy, inputAt, placeOf } from './derivatives.js';
import type { CallOptions } from './call-options.js';
import { checkGradientOuts, delivered, namedOuts } from './gradient-outs.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyFormula } from './lazy-formula.js';
import type { LazyReduction } from './lazy-reduction.js';
import type { LazyData } from './make-input.js';
import type { ResultOf, ComputeOptions } from './reduction-types.js';
import { computed } from './reductions.js';
import {
  asResult,
  asResults,
  asTensors,
  checkCompute,
  NO_RESULTS,
  computeOptionsOf,
} from './results.js';
import { runDerivatives } from './run-derivatives.js';
import { checkGroup, groupRows } from './shards/reduction-group.js';
import { jointly } from './task.js';
import { tablesApart } from './tables-apart.js';
import { checkBound } from './transforms.js';

/** Variables by the names of their gradients: what `lazyI`, `lazyJ` or `param` made, or their own names. */
export type NamedVariables = Readonly<Record<string, LazyFormula | string>>;

/** Options of `valueAndGradients`. */
export interface GradientsOptions<
  K extends ReductionKind = ReductionKind,
  D extends LazyDType = LazyDType,
  V extends NamedVariables = NamedVariables,
>
  extends
    ComputeOptions,
    ShardOptions,
    Pick<CallOptions, 'stream' | 'ranges' | 'group' | 'debug' | 'signal'> {
  /** What the results are multiplied by before they are added up: of the shape of the values. Default: ones. */
  readonly cotangent?: LazyData | undefined;
  /** Takes the results, some or all. They share no memory with what is read, nor with each other; any strides will do. */
  readonly out?: GradientsOut<K, D, V> | undefined;
}

const GRADIENTS_OPTIONS: OptionNames<GradientsOptions> = {
  cotangent: true,
  out: true,
  accumulate: true,
  sumScheme: true,
  fastMath: true,
  stream: true,
  ranges: true,
  group: true,
  ...SHARD_OPTIONS,
  ...LOAD_OPTIONS,
};

/** Where the results of `valueAndGradients` are to go. */
export interface GradientsOut<
  K extends ReductionKind = ReductionKind,
  D extends LazyDType = LazyDType,
  V extends NamedVariables = NamedVariables,
> {
  readonly value?: ResultOf<K, D> | undefined;
  /** Of the shapes of the variables' data. */
  readonly gradients?: { readonly [N in keyof V]?: Tensor<D> | undefined } | undefined;
}

const OUT_NAMES: OptionNames<GradientsOut> = { value: true, gradients: true };

/** What `valueAndGradients` gives. */
export interface ValueAndGradients<
  K extends ReductionKind,
  D extends LazyDType,
  V extends NamedVariables,
> {
  readonly value: ResultOf<K, D>;
  /** Of the shapes of the variables' data. */
  readonly gradients: { readonly [N in keyof V]: Tensor<D> };
}

/** The kinds whose derivatives need nothing of the forward pass. */
const WITHOUT_FORWARD: readonly ReductionKind[] = ['Sum', 'Mean'];

/**
 * A reduction and its gradients: `value`, and the gradients of `sum(cotangent * value)` by variables, which stand as those of
 * `gradient`. Of Sum and Mean the value and all gradients by variables of the kept side and by parameters are one pass; gradients
 * by variables of the reduced side are together another one, over the other side; rows by index are of the side that the index
 * follows. Other kinds are computed first, since their derivatives need the result. `out` is written when everything is
 * computed. `devices`, `maxBytes`, `onProgress`, `group`, `accumulate`, `sumScheme` and `fastMath` are those of `gradient`; the last three hold for the value too, where it is a sum.
 *
 * @throws LazyError NOT_DIFFERENTIABLE (indices, masks), UNBOUND_VARIABLE, INVALID_ARGUMENT; MercerError SHAPE_MISMATCH,
 * DTYPE_MISMATCH, and for `out` DEVICE_MISMATCH and OVERLAP; `out` is as it was then
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ, valueAndGradients } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = lazyI(await tensor([[1], [5]], { device: 'cpu' }));
 * const y = lazyJ(await tensor([[1], [2], [3]], { device: 'cpu' }));
 * const energy = x.sqdist(y).reduction('Sum', 'j');
 * const { value, gradients } = await valueAndGradients(energy, { x, y });
 * console.log(await value.toNested()); // [ [ 5 ], [ 29 ] ]
 * console.log(await gradients.x.toNested()); // [ [ -6 ], [ 18 ] ]
 * console.log(await gradients.y.toNested()); // [ [ -8 ], [ -4 ], [ 0 ] ]
 * ```
 */
export async function valueAndGradients<
  K extends ReductionKind,
  D extends LazyDType,
  const V extends NamedVariables,
>(
  of: LazyReduction<K, D>,
  variables: V,
  options?: GradientsOptions<NoInfer<K>, NoInfer<D>, NoInfer<V>>,
): Promise<ValueAndGradients<K, D, V>> {
  const what = 'valueAndGradients';
  const read = readOptions(what, options, GRADIENTS_OPTIONS);
  const { cotangent, out: given, group: processes, ...rest } = read;
  const out = readOptions(`${what}: out`, given, OUT_NAMES);
  checkReduction(what, of);
  checkCompute(what, rest);
  const group = processes === undefined ? undefined : checkGroup(what, processes, rest);
  const { dim } = of;
  checkBound(what, of.inputs);
  const task = tablesApart(of.task);
  // in an order that the formula gives, in which the processes of a group add up
  const wanted = Object.entries(variables)
    .map(([name, one]) => [placeOf(what, task, one), name] as const)
    .sort(([a], [b]) => a - b);
  const places = wanted.map(([place]) => place);
  const whole = { task, cotangent: cotangentInput(what, task, dim, cotangent) };
  const names = wanted.map(([, name]) => name);
  const named = namedOuts(what, task.reduction, names, out);
  const outs = {
    value: named.value,
    stream: rest.stream,
    shards: shardsOf(rest),
    group,
    gradients: places.map((place, at) => ({
      by: inputAt(task, place),
      name: `gradients.${names[at] ?? ''}`,
      out: named.gradients[at],
    })),
  };
  const { device, sizes } = checkGradientOuts(what, whole, outs);
  const where = { ...rest, device };
  const reductions = [task.reduction] as const;
  const made: Tensor[] = [];
  const written: Tensor[] = [];
  try {
    const spread = group && (await groupRows(what, group, task.reduction, sizes));
    const { kind } = task.reduction;
    // Means of processes do not add up.
    const isFirst = !WITHOUT_FORWARD.includes(kind) || (kind === 'Mean' && group !== undefined);
    const firstCall = { ...where, group, ...NO_SUMS, ...computeOptionsOf(task.reduction, rest) };
    const [first = NO_RESULTS] = isFirst
      ? await computed(jointly({ ...task, what }), [], firstCall)
      : [];
    written.push(...present(asTensors(reductions, [first])));
    const saved = { values: first.value, indices: first.index as Tensor<'int32'> | undefined };
    const derivatives = await derivativesBy(what, whole, places, { ...where, saved, spread }, made);
    const by = places.map((place) => inputAt(task, place));
    const also = isFirst ? undefined : task.reduction;
    const found = await runDerivatives(what, derivatives, by, also, where, spread);
    written.push(...present(asTensors(reductions, [found.also])), ...found.gradients);
    const targets = [...asTensors(reductions, [named.value]), ...named.gradients];
    const results = await delivered(written, targets, rest);
    const [value = NO_RESULTS] = asResults(reductions, results);
    const gradients = results.slice(results.length - names.length);
    const byName = new Map(names.map((name, at) => [name, gradients[at]]));
    const asNamed = Object.keys(variables).map((name) => [name, byName.get(name)] as const);
    return {
      value: asResult<K, D>(value),
      gradients: Object.fromEntries(asNamed) as ValueAndGradients<K, D, V>['gradients'],
    };
  } catch (error) {
    for (const one of written) one.dispose();
    throw error;
  } finally {
    for (const one of made) one.dispose();
  }
}

const NO_SUMS: ComputeOptions = { accumulate: undefined, sumScheme: undefined };

const present = (tensors: readonly (Tensor | undefined)[]): Tensor[] =>
  tensors.filter((one) => one !== undefined);
