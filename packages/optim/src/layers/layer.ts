import type { DeviceLike, random, Tensor } from '@mercer/tensor';
import type { OptionNames } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { readOptions, type Value } from '@mercer/tensor/operation';

/** Where parameters are made, and in what dtype they are. */
export interface Placement {
  /** Default: the first GPU, else the CPU. */
  readonly device?: DeviceLike | undefined;
  /** Default: 'float32'. */
  readonly dtype?: 'float32' | 'float64' | 'float16' | 'bfloat16' | undefined;
}

const PLACEMENT: OptionNames<Placement> = { device: true, dtype: true };

/** @throws MercerError INVALID_ARGUMENT */
export function readPlacement(what: string, given: Placement | undefined): Placement {
  const { device, dtype = 'float32' } = readOptions(what, given, PLACEMENT);
  if (!FLOATING.includes(dtype)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: dtype is ${JSON.stringify(dtype)}. Pass one of ${FLOATING.join(', ')}.`,
    );
  }
  return { device, dtype };
}

const FLOATING: readonly string[] = ['float32', 'float64', 'float16', 'bfloat16'];

/** What a layer is told beside its input. All of it is passed explicitly, and nothing is remembered. */
export interface LayerContext {
  /** Whether dropout drops and batch norm uses the batch's statistics. Default: false. */
  readonly training?: boolean | undefined;
  /** What dropout draws from, in training. */
  readonly key?: random.RandomKey | undefined;
  /** Which rows attention sees, or what is added to its scores: the mask of `attention`, (.., 1, N) or (.., N, N). */
  readonly mask?: Value | undefined;
  /** What the layer knows beside its parameters, such as running statistics: what its `initState` made, or {@link withState} gave. */
  readonly state?: object | undefined;
  /** Gets the state that follows, in training. {@link withState} passes it. */
  readonly update?: ((state: object) => void) | undefined;
}

const CONTEXT: OptionNames<LayerContext> = {
  training: true,
  key: true,
  mask: true,
  state: true,
  update: true,
};

/** @throws MercerError INVALID_ARGUMENT */
export const readContext = (what: string, given: LayerContext | undefined): LayerContext =>
  readOptions(what, given, CONTEXT);

/** Parameters of a layer without any. */
export type NoParams = object;

/**
 * A layer of a network: a pair of functions. Parameters are a plain tree of tensors that the caller owns, so that derivatives, optimisers and files know
 * nothing of layers.
 *
 * @typeParam P its parameters; {@link NoParams} where it has none
 */
export interface Layer<P = NoParams, X = Value> {
  /** Its name in messages, such as `linear`. */
  readonly name: string;
  /** Parameters, drawn from the key: the same for the same key, bit for bit on every device. */
  init(key: random.RandomKey, placement?: Placement): Promise<P>;
  /** What it knows beside its parameters, to begin with; undefined for a layer that knows nothing. */
  initState?(placement?: Placement): Promise<object>;
  /** Its output, which a gradient goes through. */
  apply(params: P, x: X, context?: LayerContext): Value;
}

/** The parameters of a layer. */
export type ParamsOf<L> = L extends { init(...args: never[]): Promise<infer P> } ? P : never;

/** The output of a layer, and what it knows from then on. */
export interface Output<S> {
  readonly output: Tensor;
  readonly state: S;
}

/**
 * A layer in training with its state: what `layer.apply` gives, and the state that follows it. The state that was passed stays as it is.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const norm = layers.batchNorm({ features: 1 });
 * const params = await norm.init(random.key(1), where);
 * const { output, state } = await layers.withState(norm)(params, tensor([[1], [3]], where), {
 *   state: await norm.initState(where),
 * });
 * console.log(output.shape, await state.runningMean.toNested()); // [ 2, 1 ] [ 0.20000000298023224 ]
 * ```
 *
 * @returns a function of parameters, input and context, in which `training` is true by default and `state` is needed. Inside a gradient pass the
 *   state on as `aux`, with `hasAux`
 */
export function withState<P, X, S extends object>(
  layer: Layer<P, X> & { initState(placement?: Placement): Promise<S> },
): (
  params: P,
  x: X,
  context: Omit<LayerContext, 'update' | 'state'> & { readonly state: S },
) => Promise<Output<S>> {
  return async (params, x, context) => {
    const { training = true, key, mask, state } = readContext('withState', context);
    if (state === undefined) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `withState: ${layer.name} gets no state. Pass { state } with what initState() gave, or the step before.`,
      );
    }
    let next: object = state;
    const output = await layer.apply(params, x, {
      training,
      key,
      mask,
      state: next,
      update: (one) => {
        next = one;
        // where the layer fails, nobody waits for it
        settled(one).catch(() => undefined);
      },
    });
    return { output, state: (await settled(next)) as S };
  };
}

/** A state whose tensors are there. */
async function settled(tree: unknown): Promise<unknown> {
  const one = await tree;
  if (Array.isArray(one)) return Promise.all(one.map(settled));
  const prototype: unknown =
    typeof one === 'object' && one !== null ? Object.getPrototypeOf(one) : undefined;
  if (prototype !== Object.prototype) return one;
  const entries = Object.entries(one as object);
  return Object.fromEntries(
    await Promise.all(entries.map(async ([name, each]) => [name, await settled(each)] as const)),
  );
}
