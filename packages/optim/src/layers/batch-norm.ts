import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { stopGradient } from '@mercer/autodiff';
import { readOptions, sizeOfShape, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkFlag } from '../checks.js';
import { ones, zeros } from './initialisers.js';
import { checkTensor, labelOf, layerOperation, shapeError } from './layer-operation.js';
import { affineMaker, normalised, type Affine } from './layer-norm.js';
import { readContext, readPlacement, type Layer, type Placement } from './layer.js';

/** What a batch norm knows beside its parameters, of float32 where these are of 16 bits. */

export type BatchNormState = {
  /** (features) */
  readonly runningMean: Tensor;
  /** (features); of variances with one taken off the number of elements. */
  readonly runningVar: Tensor;
};

/** How it is called. */
export interface BatchNormCall {
  readonly features: number;
  readonly epsilon: number;
}

/** A vector of features along axis 1 of a value. */
export const alongFeatures = (one: Value, x: KnownValue, features: number): Value =>
  one.reshape([features, ...x.shape.slice(2).map(() => 1)]);

/** All axes but that of the features. */
export const axesBesideFeatures = (x: KnownValue): readonly number[] =>
  x.shape.map((_, axis) => axis).filter((axis) => axis !== 1);

function checkFeatures(x: KnownValue, features: number): void {
  checkTensor(x, 'batchNorm: x');
  if (x.shape.length >= 2 && x.shape[1] === features) return;
  throw shapeError(
    `batchNorm: x is ${labelOf(x)}, and the layer has ${features} features. Pass (N, ${features}) or (N, ${features}, ..).`,
  );
}

function affine(
  y: Value,
  x: KnownValue,
  weight: Value | undefined,
  bias: Value | undefined,
  features: number,
): Value {
  const scaled = weight === undefined ? y : y.mul(alongFeatures(weight, x, features));
  return bias === undefined ? scaled : scaled.add(alongFeatures(bias, x, features));
}

/** By the statistics of the batch: each example has to do with all others. */
export const batchNormOfBatch = layerOperation(
  'batchNorm in training',
  (
    x: KnownValue,
    weight: KnownValue | undefined,
    bias: KnownValue | undefined,
    call: BatchNormCall,
  ): Value => {
    const { features, epsilon } = call;
    checkFeatures(x, features);
    if (valuesOfFeature(x) === 1) {
      throw shapeError(
        `batchNorm: in training x is ${labelOf(x)}, which has one value for each feature, and so no variance. Pass a batch with more examples.`,
      );
    }
    return affine(normalised(x, axesBesideFeatures(x), epsilon), x, weight, bias, features);
  },
);

/** By running statistics. */
export const batchNormOfState = layerOperation(
  'batchNorm',
  (
    x: KnownValue,
    weight: KnownValue | undefined,
    bias: KnownValue | undefined,
    state: { readonly mean: KnownValue; readonly variance: KnownValue },
    { features, epsilon }: BatchNormCall,
  ): Value => {
    checkFeatures(x, features);
    return affine(whitened(x, state, { features, epsilon }), x, weight, bias, features);
  },
);

/** By running statistics, before weight and bias. */
export function whitened(
  x: KnownValue,
  { mean, variance }: { readonly mean: Value; readonly variance: Value },
  { features, epsilon }: BatchNormCall,
): Value {
  const deviation = alongFeatures(variance, x, features).add(epsilon).sqrt();
  return x.sub(alongFeatures(mean, x, features)).div(deviation);
}

/** Over how many values of each feature mean and variance are taken. */
const valuesOfFeature = (x: KnownValue): number =>
  sizeOfShape([...axesBesideFeatures(x)].map((axis) => x.shape[axis] ?? 0));

/** The running statistics after a batch. */
const stateAfter = layerOperation(
  'batchNorm: the running statistics',
  (
    x: KnownValue,
    before: KnownValue,
    momentum: number,
    features: number,
    isVariance: boolean,
  ): Value => {
    checkFeatures(x, features);
    if (valuesOfFeature(x) < 2) return before.view();
    const axes = [...axesBesideFeatures(x)];
    const constant = stopGradient(x as Tensor);
    const seen = isVariance ? constant.var(axes, { correction: 1 }) : constant.mean(axes);
    return before
      .mul(1 - momentum)
      .add(seen.mul(momentum))
      .cast(before.dtype);
  },
);

/** Options of {@link batchNorm}. */
export interface BatchNormOptions {
  /** The extent of axis 1. */
  readonly features: number;
  /** Added to the variance. Default: 1e-5. */
  readonly epsilon?: number | undefined;
  /** What a batch counts in the running statistics. Default: 0.1. */
  readonly momentum?: number | undefined;
  /** Whether there are a weight and a bias. Default: true. */
  readonly affine?: boolean | undefined;
}

const BATCH_NORM: OptionNames<BatchNormOptions> = {
  features: true,
  epsilon: true,
  momentum: true,
  affine: true,
};

/** A batch norm, which has a state. */
export interface BatchNorm extends Layer<Affine> {
  initState(placement?: Placement): Promise<BatchNormState>;
}

/**
 * Batch norm (Ioffe and Szegedy 2015, arXiv 1502.03167) of (N, features) or (N, features, ..), with weight and bias (features). In training it normalises by mean and variance of
 * the batch, and else by the running statistics of its state. They are explicit: {@link withState} gives those that follow a batch, `(1 - momentum)` times the former
 * and `momentum` times those of the batch. In training without a state nothing is kept.
 *
 * @throws MercerError INVALID_ARGUMENT, also of apply without training and without a state; SHAPE_MISMATCH, also of training with one value for each feature; DEVICE_MISMATCH, DISPOSED
 */
export function batchNorm(options: BatchNormOptions): BatchNorm {
  const what = 'batchNorm';
  const given = readOptions(what, options, BATCH_NORM);
  const features = checkCount(given.features, what, 'features');
  const epsilon = checkNumber(given.epsilon ?? 1e-5, what, 'epsilon', 0);
  const momentum = checkNumber(given.momentum ?? 0.1, what, 'momentum', 0, 1);
  const isAffine = checkFlag(given.affine ?? true, what, 'affine');
  const call = { features, epsilon };
  return {
    name: what,
    init: affineMaker(what, [features], isAffine, isAffine),
    initState: async (placement) => {
      const { device, dtype } = readPlacement(what, placement);
      const where = { device, dtype: dtype === 'float64' ? dtype : ('float32' as const) };
      const [runningMean, runningVar] = await Promise.all(
        [zeros(), ones()].map(async (make) => make(UNUSED, [features], where)),
      );
      return { runningMean, runningVar } as BatchNormState;
    },
    apply: ({ weight, bias }, x, context) => {
      const { training = false, state, update } = readContext(what, context);
      const before = state as BatchNormState | undefined;
      if (training) {
        if (before !== undefined && update !== undefined) {
          const { runningMean, runningVar } = before;
          update({
            runningMean: stateAfter(x, runningMean, momentum, features, false) as Tensor,
            runningVar: stateAfter(x, runningVar, momentum, features, true) as Tensor,
          });
        }
        return batchNormOfBatch(x, weight, bias, call);
      }
      if (before === undefined) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: there are no running statistics. Pass { state } with those that training gave, or { training: true } to normalise by the batch.`,
        );
      }
      const { runningMean: mean, runningVar: variance } = before;
      return batchNormOfState(x, weight, bias, { mean, variance }, call);
    },
  };
}

/** Zeros and ones are drawn from no key. */
const UNUSED = undefined as never;
