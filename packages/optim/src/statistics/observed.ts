import { valueAndGrad, type AuxFunction } from '@mercer/autodiff';
import { describeValue } from '@mercer/options';
import { intercepted, leavesOf, listened } from '@mercer/autodiff/transform';
import { full, isPending, isTensor, MercerError, zeros, type Tensor } from '@mercer/tensor';
import {
  flatArguments,
  isKnownResult,
  isTraced,
  mapArguments,
  nestedLike,
  whenKnown,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';

/** Layers that transforms see as one call, by the names of their operations. */
export const LAYER_NAMES = [
  'linear',
  'conv1d',
  'conv2d',
  'embedding',
  'layerNorm',
  'batchNorm',
  'batchNorm in training',
] as const;

export type LayerName = (typeof LAYER_NAMES)[number];

/** A layer that ran, with what came back to it. */
export interface ObservedLayer {
  readonly name: LayerName;
  /** The arguments of its function: tensors are the observer's. */
  readonly args: readonly unknown[];
  /** Where each argument stands in the tree of parameters; undefined for what is no parameter. */
  readonly paths: readonly (string | undefined)[];
  /** The derivative of the value by the layer's output, of its shape. */
  readonly outputGradient: Tensor;
}

/** A call with the layers in it. */
export interface Observation<G> {
  readonly value: Tensor;
  /** Gradients of the parameters, where they were wanted. */
  readonly grad: G | undefined;
  readonly aux: unknown;
  readonly layers: readonly ObservedLayer[];
}

/** How a function is observed. */
export interface Observing {
  readonly what: string;
  /** Whether gradients of the parameters are computed too. Their tree is argument 0. */
  readonly withGradients: boolean;
  readonly hasAux: boolean;
  /** Called where a parameter is used by anything but a layer as one of its parameters; it may throw. */
  readonly onOtherUse?: ((path: string, operation: string) => void) | undefined;
  /** Called with what each operation on values that are traced reads; it may throw. */
  readonly onRead?: ((args: readonly unknown[], operation: string) => void) | undefined;
  /** What stands in the place of other operations of layers, by their names; it may throw. */
  readonly instead?: Readonly<Record<string, Instead>> | undefined;
}

/** The result of an operation, in its place. @param call the operation itself */
export type Instead = (
  args: readonly unknown[],
  call: (...args: readonly unknown[]) => unknown,
) => unknown;

/** Where a leaf stands in the tree of parameters. */
export const pathOf = (path: string): string => path.replace(/^\./, '') || 'params';

const isLayer = (name: string): name is LayerName =>
  (LAYER_NAMES as readonly string[]).includes(name);

/** Where the parameters of a layer stand among its arguments. */
const isParameterAt = (at: number): boolean => at === 1 || at === 2;

/** Changes of form behind which a parameter is still the same. */
const FORM = ['cast', 'view', 'contiguous'];

/** Runs a loss and its gradient, and notes each layer: its arguments, and the gradient of its output, which cost nothing beside what is computed anyway. */
export async function observed<P>(
  f: (...args: never[]) => unknown,
  args: readonly [params: P, ...rest: readonly unknown[]],
  { what, withGradients, hasAux, onOtherUse, onRead, instead = {} }: Observing,
): Promise<Observation<P>> {
  const heard = new Map<number, Tensor>();
  const views: Tensor[] = [];
  /** Another handle of what is not traced. */
  const held = (one: unknown): unknown => {
    if (!isTensor(one) && !isKnownResult(one)) return one;
    const view = (one as Tensor).view();
    if (isTensor(view)) views.push(view);
    return view;
  };
  /** Arguments with those views that had to wait for a launch. */
  const there = async (own: readonly unknown[]): Promise<readonly unknown[]> => {
    const all = await Promise.all(
      flatArguments(own).map(async (one) => {
        if (!isPending(one) || isTraced(one)) return one;
        const view = await one;
        views.push(view as Tensor);
        return view;
      }),
    );
    return nestedLike(own, all);
  };
  const run = async (by: Tensor, ...given: readonly unknown[]) => {
    const calls: (Omit<ObservedLayer, 'outputGradient'> & { readonly output: Value })[] = [];
    const layers = intercepted(
      what,
      f as (...given: readonly unknown[]) => unknown,
      {
        whole: [...LAYER_NAMES, ...Object.keys(instead)],
        carries: FORM,
        computes: ({ name, args, marks, call }) => {
          const layer = isLayer(name) ? name : undefined;
          onRead?.(args, name);
          for (const [at, mark] of marks.entries()) {
            if (typeof mark !== 'string' || FORM.includes(name)) continue;
            if (layer === undefined || !isParameterAt(at)) onOtherUse?.(mark, name);
          }
          const output = instead[name]?.(args, call) ?? call(...args);
          if (layer === undefined) return output;
          const place = calls.length;
          calls.push({
            name: layer,
            args: mapArguments(args, held),
            // what may be a parameter stands in front of lists and records
            paths: marks.slice(0, 3) as readonly (string | undefined)[],
            output: output as Value,
          });
          return listened(output as Value, by, (cotangent) => {
            heard.set(place, cotangent);
          });
        },
      },
      ({ path, argument }) => (argument === 0 ? pathOf(path) : undefined),
    );
    const result = await layers(...given);
    const [value, aux] = hasAux ? (result as readonly [Tensor, unknown]) : [result, undefined];
    const outputs = await Promise.all(
      calls.map(async ({ output }) => {
        const { made } = await whenKnown(output);
        const { shape, dtype, device } = made as KnownValue;
        // of constants, which no trace owns
        if (isTensor(made)) made.dispose();
        return { shape: [...shape], dtype, device };
      }),
    );
    const noted = await Promise.all(
      calls.map(async ({ name, args: own, paths }) => ({ name, args: await there(own), paths })),
    );
    return [value, { aux, noted, outputs }] as const;
  };
  const [first] = await leavesOf(args[0], `${what}: argument 0`);
  if (first === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: argument 0 holds no tensor. Pass the parameters: a tensor, or arrays and objects of tensors.`,
    );
  }
  const { device } = first.value;
  using by = await full([], 0, { dtype: 'float32', device });
  const argnums = withGradients ? [0, 1] : [0];
  const call = valueAndGrad(
    run as AuxFunction<readonly unknown[], Awaited<ReturnType<typeof run>>[1]>,
    {
      argnums,
      allowUnused: true,
      hasAux: true,
    },
  );
  try {
    const { value, grad, aux } = (await call(by, ...args)) as unknown as {
      readonly value: Tensor;
      readonly grad: readonly [Tensor, P?];
      readonly aux: Awaited<ReturnType<typeof run>>[1];
    };
    grad[0].dispose();
    const { noted, outputs } = aux;
    const layers = await Promise.all(
      noted.map(async (one, place): Promise<ObservedLayer> => {
        const form = outputs[place] as (typeof outputs)[0];
        return {
          ...one,
          outputGradient:
            heard.get(place) ??
            (await zeros(form.shape, { dtype: form.dtype, device: form.device })),
        };
      }),
    );
    return { value, grad: grad[1], aux: aux.aux, layers };
  } catch (error) {
    for (const one of [...heard.values(), ...views]) one.dispose();
    throw error;
  }
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkLoss(what: string, f: unknown): void {
  if (typeof f === 'function') return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: expected a function, got ${describeValue(f)}. Pass a loss of parameters and other things.`,
  );
}
