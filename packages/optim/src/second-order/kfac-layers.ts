import { describeValue } from '@mercer/options';
import { mul, variable } from '@mercer/formula';
import { map, MercerError, pad, type Scope, type Tensor } from '@mercer/tensor';
import { formatShape, sizeOfShape } from '@mercer/tensor/operation';
import { OptimError } from '../optim-error.js';
import type { OptimiserState } from '../optimiser.js';
import type { RuleStep, SteppedLeaf } from '../rule.js';
import type { LayerStatistics, Statistics } from '../statistics/layer-statistics.js';
import { stateDType, type UpdatedLeaf } from '../update.js';
import { productOf } from './along-axes.js';
import { batchesOf, partsOf, roomFor, type Batch, type Like } from './batches.js';
import { copyAll } from './blocks.js';
import { SAME } from './moves.js';
import { placesOf, windowed } from '../layers/windows.js';

/** A layer's Kronecker factors, which stand beside its weight. */
export interface LayerFactors {
  readonly weight: UpdatedLeaf;
  /** Inputs of a row of the weight, with 1 for the bias. */
  readonly columns: number;
  readonly outputs: number;
  readonly dtype: 'float32' | 'float64';
}

/** A layer of which Kronecker factors are kept, in a step. */
export interface KfacLayer extends LayerFactors {
  readonly statistics: LayerStatistics;
  readonly weight: SteppedLeaf;
  readonly bias: SteppedLeaf | undefined;
  /** Places of both among the leaves. */
  readonly places: { readonly weight: number; readonly bias: number | undefined };
  /** Inputs of a row of the weight. */
  readonly inputs: number;
}

/** The factors of the layers of a state's last step: of a layer without a bias they are a part of what the state has. */
const lastLayers = new WeakMap<OptimiserState, ReadonlyMap<string, number>>();

export function noteLayers(state: OptimiserState, layers: readonly KfacLayer[]): void {
  lastLayers.set(state, new Map(layers.map(({ weight, columns }) => [weight.name, columns])));
}

/** Of the layers of the last step. @throws OptimError MISSING_STATISTICS where there was none */
export function notedLayers(
  what: string,
  leaves: readonly UpdatedLeaf[],
  state: OptimiserState,
): readonly LayerFactors[] {
  const columns = lastLayers.get(state);
  if (columns === undefined) {
    throw new OptimError(
      'MISSING_STATISTICS',
      `${what}: a refresh inverts the factors of the layers of which the last step had statistics, and this state has had no step since it was made. Take a step before.`,
    );
  }
  return leaves.flatMap((weight): LayerFactors[] => {
    const own = columns.get(weight.name);
    if (own === undefined) return [];
    const [outputs = 0] = weight.param.shape;
    return [{ weight, columns: own, outputs, dtype: stateDType(weight.param) }];
  });
}

// unlike Array.isArray it says nothing of the elements
const isList = (value: unknown): boolean => Array.isArray(value);
const shapeError = (message: string): MercerError => new MercerError('SHAPE_MISMATCH', message);

/**
 * The layers of statistics, with their parameters.
 *
 * @param plain paths of parameters that have none
 * @throws OptimError MISSING_STATISTICS; MercerError SHAPE_MISMATCH, INVALID_ARGUMENT, DISPOSED
 */
export function layersOf(
  what: string,
  leaves: readonly SteppedLeaf[],
  statistics: Statistics | undefined,
  plain: ReadonlySet<string>,
): readonly KfacLayer[] {
  const places = new Map(leaves.map(({ name }, at) => [name, at]));
  for (const name of plain) {
    if (places.has(name)) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: plain names ${name}, and params has no such tensor. It has ${[...places.keys()].join(', ')}.`,
    );
  }
  const missing = new Set(
    leaves.flatMap(({ name, param }) => (plain.has(name) || param.size === 0 ? [] : [name])),
  );
  if (statistics === undefined && missing.size > 0) {
    throw new OptimError(
      'MISSING_STATISTICS',
      `${what}: a step needs the statistics of its layers, and none were passed. Compute gradients with withStatistics(f), and pass step(params, grads, state, { statistics }).`,
    );
  }
  if (statistics !== undefined && !isList(statistics)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: statistics is ${describeValue(statistics)}. Pass the statistics that withStatistics(f) gives.`,
    );
  }
  const layers = (statistics ?? []).flatMap((one): KfacLayer[] => {
    if (plain.has(one.weight)) return [];
    const { groups = 1 } = one.window ?? {};
    if (groups !== 1) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: ${one.weight} is of a convolution of ${groups} groups, whose factors are not computed. Name it and its bias in the option plain.`,
      );
    }
    const find = (name: string): number => {
      const at = places.get(name);
      if (at === undefined) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: statistics name ${name}, and params has no such tensor. Compute them with the parameters of this step.`,
        );
      }
      if (!missing.delete(name)) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: statistics have ${name} twice: a layer that runs several times has no factors of its own. Name it in the option plain.`,
        );
      }
      return at;
    };
    const at = {
      weight: find(one.weight),
      bias: one.bias === undefined ? undefined : find(one.bias),
    };
    const weight = leaves[at.weight] as SteppedLeaf;
    const bias = at.bias === undefined ? undefined : leaves[at.bias];
    checkShapes(what, one, weight, bias);
    const [outputs = 0, ...rest] = weight.param.shape;
    const inputs = sizeOfShape(rest);
    const columns = inputs + (bias === undefined ? 0 : 1);
    const dtype = stateDType(weight.param);
    return [{ statistics: one, weight, bias, places: at, inputs, columns, outputs, dtype }];
  });
  if (missing.size === 0) return layers;
  throw new OptimError(
    'MISSING_STATISTICS',
    `${what}: there are no statistics of ${[...missing].join(', ')}. Statistics are of linear layers and of convolutions of two axes: name other parameters in the option plain, and they take steps along the gradient.`,
  );
}

function checkShapes(
  what: string,
  { kind, inputs, outputGradients, window, weight: name }: LayerStatistics,
  { param }: SteppedLeaf,
  bias: SteppedLeaf | undefined,
): void {
  for (const one of [inputs, outputGradients]) one.assertAlive();
  const rank = kind === 'linear' ? 2 : 4;
  const { shape } = param;
  const [outputs = 0, channels = 0] = shape;
  const wrong = (): MercerError =>
    shapeError(
      `${what}: ${name} is ${formatShape(shape)}, and its layer (${kind}) had inputs ${formatShape(inputs.shape)} and gradients of outputs ${formatShape(outputGradients.shape)}. Compute the statistics with these parameters.`,
    );
  const isThere = inputs.device === param.device && outputGradients.device === param.device;
  if (shape.length !== rank || !isThere) throw wrong();
  if (bias !== undefined && (bias.param.size !== outputs || bias.param.dtype !== param.dtype))
    throw wrong();
  const [count] = inputs.shape;
  if (kind === 'linear') {
    const lead = (of: Tensor): string => of.shape.slice(0, -1).join();
    const fits = inputs.shape.at(-1) === channels && outputGradients.shape.at(-1) === outputs;
    if (inputs.rank < 2 || !fits || lead(inputs) !== lead(outputGradients)) throw wrong();
    return;
  }
  const fits = inputs.rank === 4 && outputGradients.rank === 4 && inputs.shape[1] === channels;
  if (window === undefined || !fits || String(window.kernel) !== String(shape.slice(2)))
    throw wrong();
  const wanted = placesOf('kfac', inputs, { dilation: [1, 1], ...window });
  if (String(outputGradients.shape) !== String([count, outputs, ...wanted])) throw wrong();
}

const UNSCALED = mul(SAME, variable('unscale'));

/** Views of one shape, of what is copied and where it goes. */
interface Copies {
  readonly from: Tensor[];
  readonly to: Tensor[];
}

/** How many rows a layer's weight was multiplied with. */
const rowsOf = ({ statistics: { kind, inputs, outputGradients } }: KfacLayer): number =>
  kind === 'linear'
    ? sizeOfShape(inputs.shape.slice(0, -1))
    : (inputs.shape[0] ?? 0) * sizeOfShape(outputGradients.shape.slice(2));

/**
 * What the rows of a layer's weight were multiplied with, in the order of `weightRows`, each with 1 for the bias.
 *
 * @param rows (rows, inputs + 1), which they are copied to
 * @param one the number 1 on the device
 */
async function inputRows(
  scope: Scope,
  layer: KfacLayer,
  rows: Tensor,
  one: Tensor,
): Promise<Copies> {
  const { statistics, inputs } = layer;
  const { kind, inputs: x, window } = statistics;
  const bias = scope.track(rows.slice(null, [inputs, inputs + 1]));
  const ones = scope.track(one.broadcastTo(bias.shape));
  if (kind === 'linear' || window === undefined) {
    const part = scope.track(rows.slice(null, [0, inputs]));
    return { from: [x, ones], to: [scope.track(part.reshape(x.shape)), bias] };
  }
  const { padding } = window;
  const [count = 0, channels = 0] = x.shape;
  const places = statistics.outputGradients.shape.slice(2);
  const widths = [[0, 0], [0, 0], ...padding.map((n) => [n, n] as const)] as const;
  const whole = padding.every((n) => n === 0) ? x : scope.track(await pad(x, widths));
  if (channels === 0) return { from: [ones], to: [bias] };
  const moves = { dilation: [1, 1], ...window, padding: [0, 0] };
  const from = windowed(whole, 2, moves, places).map((each) => scope.track(each as Tensor));
  // channels beside each other for each element of the window
  const to = from.map((_, k) => {
    const columns = scope.track(rows.slice(null, [k * channels, (k + 1) * channels]));
    const split = scope.track(columns.reshape([count, ...places, channels]));
    return scope.track(split.permute([0, 3, 1, 2]));
  });
  return { from: [...from, ones], to: [...to, bias] };
}

/** A weight, or what has its shape, as a view (outputs, ..) in the order of the factors' rows: of a convolution channels come last. */
export const weightRows = (scope: Scope, of: Tensor): Tensor =>
  of.rank === 4 ? scope.track(of.permute([0, 2, 3, 1])) : of;

/** The factors of a batch of examples, of each layer. */
export interface BatchFactors {
  /** (inputs + 1, inputs + 1): the means over examples, of the sums over places, of inputs' products with each other. */
  readonly a: readonly Tensor[];
  /** (outputs, outputs): the means over examples and places of the products of an example's gradients. */
  readonly g: readonly Tensor[];
}

/**
 * The factors of a batch of N examples and T places (Martens and Grosse 2015; Grosse and Martens 2016): Ω = (1/N) ΣΣ a aᵀ and Γ = (1/(N T)) ΣΣ g gᵀ. Gradients are of a mean over
 * examples, so that an example's own are N times as large. The rows of all layers are two launches, and the products one for each shape.
 */
export async function batchFactors(
  scope: Scope,
  layers: readonly KfacLayer[],
  { unscale, one }: RuleStep['numbers'],
): Promise<BatchFactors> {
  const countOf = ({ statistics }: KfacLayer): number => statistics.inputs.shape[0] ?? 0;
  const like = (layer: KfacLayer, width: number): Like => {
    const { dtype, weight } = layer;
    const shape = [rowsOf(layer), width];
    return { shape, dtype, device: weight.param.device, kind: String(countOf(layer)) };
  };
  const a = roomFor(
    scope,
    layers.map((layer) => like(layer, layer.inputs + 1)),
  );
  const g = roomFor(
    scope,
    layers.map((layer) => like(layer, layer.outputs)),
  );
  const rows = partsOf(scope, a);
  const copies: Copies = { from: [], to: [] };
  for (const [at, layer] of layers.entries()) {
    const own = one?.[layer.dtype] as Tensor;
    const { from, to } = await inputRows(scope, layer, rows[at] as Tensor, own);
    copies.from.push(...from);
    copies.to.push(...to);
  }
  await copyAll(copies.from, copies.to);
  const x = layers.map(({ statistics: { kind, outputGradients } }) =>
    kind === 'linear' ? outputGradients : scope.track(outputGradients.permute([0, 2, 3, 1])),
  );
  const out = partsOf(scope, g).map((part, at) =>
    scope.track(part.reshape((x[at] as Tensor).shape)),
  );
  if (unscale === undefined) await copyAll(x, out);
  else if (x.length > 0)
    await map(
      UNSCALED,
      { x, unscale: layers.map(({ dtype }) => unscale[dtype] as Tensor) },
      { out },
    );
  const products = async (
    batches: readonly Batch[],
    alphaOf: (count: number, all: number) => number,
  ): Promise<readonly Tensor[]> => {
    const wholes: Tensor[] = [];
    for (const { places, whole } of batches) {
      const layer = layers[places[0] ?? 0] as KfacLayer;
      const alpha = alphaOf(Math.max(1, countOf(layer)), rowsOf(layer));
      wholes.push(await productOf(scope, whole, whole, { transposeA: true, alpha }));
    }
    return partsOf(scope, batchesOf(batches, wholes));
  };
  return {
    a: await products(a, (count) => 1 / count),
    g: await products(g, (count, all) => count / Math.max(1, all / count)),
  };
}
