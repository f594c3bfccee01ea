import { describeList, type OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { formatShape, readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import { ones, zeros } from './initialisers.js';
import { checkTensor, labelOf, layerOperation, shapeError } from './layer-operation.js';
import { readContext, readPlacement, type Layer } from './layer.js';
import type { random } from '@mercer/tensor';
import { checkCount, checkNumber, checkFlag } from '../checks.js';

/** Values with mean 0 and variance 1 along axes. */
export function normalised(x: Value, axes: readonly number[], epsilon: number): Value {
  const centred = x.sub(x.mean([...axes], { keepDims: true }));
  return centred.div(
    x
      .var([...axes], { keepDims: true })
      .add(epsilon)
      .sqrt(),
  );
}

/** The last axes of a value, counted from the front. */
export const lastAxes = (x: KnownValue, count: number): readonly number[] =>
  Array.from({ length: count }, (_, k) => x.shape.length - count + k);

/** How a layer norm is called. */
export interface NormCall {
  /** The extents of the axes that are normalised. */
  readonly shape: readonly number[];
  readonly epsilon: number;
}

/** Refuses what has other last axes than the layer. @throws MercerError SHAPE_MISMATCH */
function checkLast(x: KnownValue, name: string, shape: readonly number[]): void {
  const own = x.shape.slice(-shape.length);
  if (own.length === shape.length && own.every((extent, k) => extent === shape[k])) return;
  throw shapeError(
    `layerNorm: ${name} is ${labelOf(x)}, and the layer is of ${formatShape(shape)}: the last axes have to be these.`,
  );
}

export const layerNormOperation = layerOperation(
  'layerNorm',
  (
    x: KnownValue,
    weight: KnownValue | undefined,
    bias: KnownValue | undefined,
    call: NormCall,
  ): Value => {
    const { shape, epsilon } = call;
    checkTensor(x, 'layerNorm: x');
    checkLast(x, 'x', shape);
    let y = normalised(x, lastAxes(x, shape.length), epsilon);
    for (const [name, one] of Object.entries({ weight, bias })) {
      if (one === undefined) continue;
      checkTensor(one, `layerNorm: ${name}`);
      checkLast(one, name, shape);
      y = name === 'weight' ? y.mul(one) : y.add(one);
    }
    return y;
  },
);

/** Options of {@link layerNorm}. */
export interface LayerNormOptions {
  /** The extents of the last axes, which are normalised together: a number for one axis, or several. */
  readonly shape: number | readonly number[];
  /** Added to the variance. Default: 1e-5. */
  readonly epsilon?: number | undefined;
  /** Whether there is a weight to multiply with. Default: true. */
  readonly weight?: boolean | undefined;
  /** Whether there is a bias. Default: true with a weight. */
  readonly bias?: boolean | undefined;
}

const LAYER_NORM: OptionNames<LayerNormOptions> = {
  shape: true,
  epsilon: true,
  weight: true,
  bias: true,
};

/** A weight and a bias, where there are any. */

export type Affine = {
  readonly weight?: Tensor;
  readonly bias?: Tensor;
};

/**
 * Layer norm (Ba et al. 2016, arXiv 1607.06450): `(x - mean) / sqrt(variance + epsilon) * weight + bias`, with mean and variance (of all elements, not one less) of the last axes of
 * each example. weight and bias have the extents of these axes.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.layerNorm({ shape: 2 });
 * const y = layer.apply(await layer.init(random.key(1), where), await tensor([[1, 3]], where));
 * console.log(await y.round().toNested()); // [ [ -1, 1 ] ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; of apply SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function layerNorm(options: LayerNormOptions): Layer<Affine> {
  const what = 'layerNorm';
  const given = readOptions(what, options, LAYER_NORM);
  const all: readonly unknown[] = Array.isArray(given.shape) ? given.shape : [given.shape];
  const shape = all.map((one) => checkCount(one, what, `shape ${describeList(all)}`));
  const epsilon = checkNumber(given.epsilon ?? 1e-5, what, 'epsilon', 0);
  const hasWeight = checkFlag(given.weight ?? true, what, 'weight');
  const hasBias = checkFlag(given.bias ?? hasWeight, what, 'bias');
  if (shape.length === 0) throw shapeError(`${what}: shape is []. Name at least one axis.`);
  return {
    name: what,
    init: affineMaker(what, shape, hasWeight, hasBias),
    apply: ({ weight, bias }, x, context) => {
      readContext(what, context);
      return layerNormOperation(x, weight, bias, { shape, epsilon });
    },
  };
}

/** Makes a weight of ones and a bias of zeros. */
export const affineMaker =
  (
    what: string,
    shape: readonly number[],
    hasWeight: boolean,
    hasBias: boolean,
  ): Layer<Affine>['init'] =>
  async (key: random.RandomKey, placement) => {
    const where = readPlacement(what, placement);
    return {
      ...(hasWeight && { weight: await ones()(key, shape, where) }),
      ...(hasBias && { bias: await zeros()(key, shape, where) }),
    };
  };
