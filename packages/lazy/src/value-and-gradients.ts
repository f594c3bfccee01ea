import type { Reduction, ReductionKind } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import type { Results } from './call.js';
import { cotangentInput, derivativesBy, inputAt, placeOf, toData } from './derivatives.js';
import { execute, executeAll, type CallOptions } from './execute.js';
import { checkGradientOuts, namedOuts } from './gradient-outs.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyFormula } from './lazy-formula.js';
import type { LazyReduction } from './lazy-reduction.js';
import type { LazyData } from './make-input.js';
import type { ResultOf } from './reduction-types.js';
import { asResult } from './result-of-kind.js';
import { deliver } from './results.js';
import type { Reductions } from './task.js';
import { checkBound } from './transforms.js';

/** Variables by the names of their gradients: what `lazyI`, `lazyJ` or `param` made, or their own names. */
export type NamedVariables = Readonly<Record<string, LazyFormula | string>>;

/** Options of `valueAndGradients`. */
export interface GradientsOptions<
  K extends ReductionKind = ReductionKind,
  D extends LazyDType = LazyDType,
  V extends NamedVariables = NamedVariables,
> extends Pick<CallOptions, 'stream' | 'ranges' | 'debug'> {
  /** What the results are multiplied by before they are added up: of the shape of the values. Default: ones. */
  readonly cotangent?: LazyData | undefined;
  /** Takes the results, some or all. They share no memory with what is read, nor with each other; any strides will do. */
  readonly out?: GradientsOut<K, D, V> | undefined;
}

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
 * by variables of the reduced side are together another one, over the other side. Other kinds are computed first, since their
 * derivatives need the result. `out` is written when everything is computed.
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
  { cotangent, out = {}, ...rest }: GradientsOptions<NoInfer<K>, NoInfer<D>, NoInfer<V>> = {},
): Promise<ValueAndGradients<K, D, V>> {
  const what = 'valueAndGradients';
  const { task, dim } = of;
  checkBound(what, task.inputs);
  const places = Object.values(variables).map((one) => placeOf(what, task, one));
  const whole = { task, cotangent: cotangentInput(what, task, dim, cotangent) };
  const names = Object.keys(variables);
  const given = namedOuts(what, task.reduction, names, out);
  const outs = places.map((place, at) => ({
    ...{ by: inputAt(task, place), name: `gradients.${names[at] ?? ''}`, out: given.gradients[at] },
  }));
  const { stream } = rest;
  const { device } = checkGradientOuts(what, whole, { ...given, gradients: outs, stream });
  const options = { ...rest, device };
  const made: Tensor[] = [];
  const gradients: Tensor[] = [];
  let forward: Results | undefined;
  try {
    if (!WITHOUT_FORWARD.includes(task.reduction.kind)) {
      forward = await execute({ ...task, what }, [], options);
    }
    const saved = {
      values: forward?.value,
      indices: forward?.index as Tensor<'int32'> | undefined,
    };
    const { reductions, inputs } = await derivativesBy(
      what,
      whole,
      places,
      { ...options, saved },
      made,
    );
    const run = async (all: readonly Reduction[]): Promise<readonly Results[]> =>
      isSome(all) ? executeAll({ what, reductions: all, inputs }, [], options) : [];
    const onKept = reductions.filter(({ axis }) => axis === task.reduction.axis);
    const onReduced = reductions.filter(({ axis }) => axis !== task.reduction.axis);
    const first = await run(forward === undefined ? [task.reduction, ...onKept] : onKept);
    if (forward === undefined) forward = first[0] ?? {};
    const rest = first.length > onKept.length ? first.slice(1) : first;
    made.push(...valuesOf(rest));
    const others = await run(onReduced);
    made.push(...valuesOf(others));
    const [keptValues, reducedValues] = [valuesOf(rest).values(), valuesOf(others).values()];
    for (const [at, place] of places.entries()) {
      const isKept = reductions[at]?.axis === task.reduction.axis;
      const { value } = (isKept ? keptValues : reducedValues).next();
      if (value === undefined) throw new Error('a sum has values');
      gradients.push(await toData(value, inputAt(task, place), { stream }));
    }
    const written = [forward, ...gradients.map((value) => ({ value }))];
    const wanted = [
      {
        value: given.value?.value ?? forward.value,
        index: given.value?.index ?? forward.index,
      },
      ...gradients.map((value, at) => ({ value: given.gradients[at] ?? value })),
    ];
    const [value = {}, ...ends] = await deliver({ written, wanted }, stream);
    const named = names.map((name, at) => [name, ends[at]?.value] as const);
    return {
      value: asResult<K, D>(value),
      gradients: Object.fromEntries(named) as ValueAndGradients<K, D, V>['gradients'],
    };
  } catch (error) {
    for (const one of [forward?.value, forward?.index, ...gradients]) one?.dispose();
    throw error;
  } finally {
    for (const one of made) one.dispose();
  }
}

const isSome = (all: readonly Reduction[]): all is Reductions => all.length > 0;

const valuesOf = (all: readonly Results[]): Tensor[] =>
  all.flatMap(({ value }) => (value === undefined ? [] : [value]));
