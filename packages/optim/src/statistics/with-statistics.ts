import type { OptionNames } from '@mercer/options';
import type {
  AuxFunction,
  TensorFunction,
  Tree,
  ValueAndGrad,
  WithAux,
  Settled,
} from '@mercer/autodiff';
import { isTensor, type Tensor } from '@mercer/tensor';
import { flatArguments, readOptions } from '@mercer/tensor/operation';
import { checkFlag } from '../checks.js';
import type { Moves } from '../layers/convolution.js';
import type { LayerStatistics, Statistics } from './layer-statistics.js';
import { checkLoss, observed, type ObservedLayer } from './observed.js';

/** Options of {@link withStatistics}. */
export interface StatisticsOptions<X extends boolean = boolean> {
  /** The function gives `[value, aux]`: see `valueAndGrad`. Default: false. */
  readonly hasAux?: X | undefined;
}

const OPTIONS: OptionNames<StatisticsOptions> = { hasAux: true };

/** A loss with its gradient and what the layers saw. */
export interface WithStatistics<P> extends ValueAndGrad<P> {
  /** Of each linear layer and each conv2d whose weight is a tensor of the parameters, in the order in which they ran. */
  readonly statistics: Statistics;
}

/**
 * The value of a loss and its gradient by its first argument, with what each linear layer and conv2d was given, and the derivative of the loss by what it gave. The gradient of the outputs is heard as
 * it passes: nothing is computed twice.
 *
 * Parameters without influence have gradients of zeros. Layers count that are called in the function itself, not inside `vmap`, `grad` or `checkpoint` within it.
 *
 * ```ts
 * import { layers, losses, withStatistics } from '@mercer/optim';
 * import { random, tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.linear({ inputs: 2, outputs: 1 });
 * const params = await layer.init(random.key(1), where);
 * const loss = (p: typeof params, x: Tensor, y: Tensor) => losses.mse(layer.apply(p, x), y);
 * const x = await tensor([[1, 2], [3, 4]], where);
 * const y = await tensor([[1], [2]], where);
 * const { grad, statistics } = await withStatistics(loss)(params, x, y);
 * console.log(grad.weight.shape, statistics[0]?.weight, statistics[0]?.outputGradients.shape); // [ 1, 2 ] weight [ 2, 1 ]
 * ```
 *
 * @param f a loss of parameters and other things, as `valueAndGrad` takes it: the mean over the examples
 * @returns `{ value, grad, statistics }`, whose tensors the caller disposes
 * @throws as `valueAndGrad`
 */
export function withStatistics<P extends Tree, R extends readonly unknown[]>(
  f: TensorFunction<readonly [params: P, ...rest: R]>,
  options?: StatisticsOptions<false>,
): (params: P, ...rest: R) => Promise<WithStatistics<P>>;
export function withStatistics<P extends Tree, R extends readonly unknown[], X>(
  f: AuxFunction<readonly [params: P, ...rest: R], X>,
  options: StatisticsOptions & { readonly hasAux: true },
): (params: P, ...rest: R) => Promise<WithStatistics<P> & WithAux<Settled<X>>>;
export function withStatistics(
  f: (...args: never[]) => unknown,
  options?: StatisticsOptions,
): (...args: readonly [unknown, ...unknown[]]) => Promise<unknown> {
  const what = 'withStatistics';
  checkLoss(what, f);
  const { hasAux = false } = readOptions(what, options, OPTIONS);
  checkFlag(hasAux, what, 'hasAux');
  return async (...args) => {
    const { value, grad, aux, layers } = await observed(f, args, {
      what,
      withGradients: true,
      hasAux,
    });
    const statistics = layers.flatMap((layer) => {
      const one = statisticsOf(layer);
      const kept: readonly unknown[] = one === undefined ? [] : [one.inputs, one.outputGradients];
      disposeOthers(layer, kept);
      return one ?? [];
    });
    return { value, grad, statistics, ...(hasAux && { aux }) };
  };
}

/** Disposes what a layer was observed with. */
export function disposeOthers(
  { args, outputGradient }: ObservedLayer,
  kept: readonly unknown[] = [],
): void {
  for (const one of [...flatArguments(args), outputGradient]) {
    if (isTensor(one) && !kept.includes(one)) one.dispose();
  }
}

function statisticsOf({
  name,
  args,
  paths,
  outputGradient,
}: ObservedLayer): LayerStatistics | undefined {
  const [, weight, bias] = paths;
  if ((name !== 'linear' && name !== 'conv2d') || weight === undefined) return undefined;
  return {
    kind: name,
    inputs: args[0] as Tensor,
    outputGradients: outputGradient,
    weight,
    ...(bias !== undefined && { bias }),
    ...(name === 'conv2d' && { window: windowOf(args[1] as Tensor, args[3] as Moves) }),
  };
}

type Pair = readonly [number, number];

function windowOf(
  { shape }: Tensor,
  { stride, padding, dilation, groups }: Moves,
): NonNullable<LayerStatistics['window']> {
  return {
    kernel: shape.slice(2) as unknown as Pair,
    stride: stride as unknown as Pair,
    padding: padding as unknown as Pair,
    dilation: dilation as unknown as Pair,
    groups,
  };
}
