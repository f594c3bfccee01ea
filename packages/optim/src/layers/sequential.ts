import { describeValue } from '@mercer/options';
import { MercerError, random } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';
import { inSteps } from './layer-operation.js';
import { readContext, readPlacement, type Layer, type ParamsOf, type Placement } from './layer.js';

type Named = Readonly<Record<string, Layer<unknown>>>;
type Listed = readonly Layer<unknown>[];

/** The names of layers: of a list their numbers. */
type NamesOf<L> = L extends Listed ? keyof L & `${number}` : keyof L;

/** Parameters of layers by the layers' names; layers without parameters have none. */
export type SequentialParams<L> = {
  readonly [K in NamesOf<L> as keyof ParamsOf<L[K]> extends never ? never : K]: ParamsOf<L[K]>;
};

/** What a layer knows beside its parameters. */
type StateOf<L> = L extends { initState(...args: never[]): Promise<infer S> } ? S : never;

/** The same for what layers know beside their parameters. */
export type SequentialState<L> = {
  readonly [K in NamesOf<L> as keyof StateOf<L[K]> extends never ? never : K]: StateOf<L[K]>;
};

/** Layers one behind the other. */
export interface Sequential<P, S extends object> extends Layer<P> {
  initState(placement?: Placement): Promise<S>;
}

/**
 * Layers one behind the other, by name: each gets what the one before gives. Parameters are those of the layers by their names, those of a list by their numbers, as in torch's
 * Sequential. Each layer has a key of its own, made of the key in the context and of its number.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const model = layers.sequential({
 *   hidden: layers.linear({ inputs: 2, outputs: 8 }),
 *   relu: layers.relu(),
 *   output: layers.linear({ inputs: 8, outputs: 3 }),
 * });
 * const params = await model.init(random.key(1), where);
 * console.log(params.output.weight.shape); // [ 3, 8 ]
 * console.log((await model.apply(params, await tensor([[1, 2]], where))).shape); // [ 1, 3 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; of apply what the layers throw
 */
export function sequential<const L extends Named | Listed>(
  layers: L,
): Sequential<SequentialParams<L>, SequentialState<L>> {
  const what = 'sequential';
  const all = checkLayers(what, layers);
  const made = async <T>(
    each: (layer: Layer<unknown>, at: number) => Promise<T | undefined>,
  ): Promise<Record<string, T>> => {
    const found = await Promise.all(all.map(async ([, layer], at) => each(layer, at)));
    return Object.fromEntries(
      all.flatMap(([name], at) => {
        const one = found[at];
        return one === undefined || isEmpty(one) ? [] : [[name, one]];
      }),
    );
  };
  return {
    name: what,
    init: async (key, placement) => {
      const where = readPlacement(what, placement);
      return made(async (layer, at) =>
        layer.init(random.foldIn(key, at), where),
      ) as unknown as Promise<SequentialParams<L>>;
    },
    initState: async (placement) => {
      const where = readPlacement(what, placement);
      return made(async (layer) => layer.initState?.(where)) as unknown as Promise<
        SequentialState<L>
      >;
    },
    apply: (params, x, context) => {
      const { training, key, mask, state = {}, update } = readContext(what, context);
      const steps = (own: unknown, input: Value, before: object, seen?: Value): Run => {
        const next: Record<string, object> = { ...before };
        let y = input;
        for (const [at, [name, layer]] of all.entries()) {
          y = layer.apply(memberOf(own, name) ?? {}, y, {
            training,
            mask: seen,
            key: key === undefined ? undefined : random.foldIn(key, at),
            state: memberOf(before, name),
            ...(update !== undefined && {
              update: (one) => {
                next[name] = one;
              },
            }),
          });
        }
        // what nobody asks for would be handles that nobody disposes
        return { y, next: update === undefined ? {} : next };
      };
      const run = inSteps(what, steps, ({ y, next }) => {
        update?.(next);
        return y;
      });
      return run(params, x, state, mask);
    },
  };
}

/** What layers gave, and what they know from then on. */
interface Run {
  readonly y: Value;
  readonly next: object;
}

const memberOf = (tree: unknown, name: string): object | undefined =>
  Object.hasOwn(tree as object, name)
    ? ((tree as Readonly<Record<string, object>>)[name] ?? undefined)
    : undefined;

const isEmpty = (one: unknown): boolean =>
  typeof one === 'object' && one !== null && Object.keys(one).length === 0;

/** Layers by their names. @throws MercerError INVALID_ARGUMENT */
function checkLayers(
  what: string,
  layers: Named | Listed,
): readonly (readonly [string, Layer<unknown>])[] {
  const given: unknown = layers;
  if (typeof given !== 'object' || given === null) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: expected layers by name, got ${describeValue(layers)}. Pass an object of layers, or a list.`,
    );
  }
  const all = Object.entries(layers);
  for (const [name, layer] of all) {
    const one: unknown = layer;
    if (typeof one === 'object' && one !== null && 'apply' in one && 'init' in one) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(one)}, which is no layer. Pass what linear(), conv2d() and their like give; activation() makes one of a function.`,
    );
  }
  return all;
}
