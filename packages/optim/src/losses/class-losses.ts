import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import {
  checkAxis,
  formatShape,
  readOptions,
  sizeOfShape,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { checkCount, checkNumber } from '../checks.js';
import {
  checkTensor,
  checkWhole,
  labelOf,
  layerOperation,
  shapeError,
} from '../layers/layer-operation.js';
import { FLOATING } from '../tree.js';
import { exampleLosses } from './example-losses.js';
import {
  checkReduction,
  reduced,
  REDUCTION,
  type Reduction,
  type ReductionOption,
} from './reduced.js';

/** Options of {@link nll}. */
export interface NllOptions extends ReductionOption {
  /** Along which axis the classes lie. Default: 1, or 0 of one example. */
  readonly axis?: number | undefined;
  /** A label that does not count, as that of padding: its loss is 0, and the mean is over the others. Default: every label counts. */
  readonly ignoreIndex?: number | undefined;
  /** Of each class a factor of the losses of its examples: (classes). The mean is then the sum by the sum of the examples' factors. Default: 1. */
  readonly classWeights?: Value | undefined;
}

/** Options of {@link crossEntropy}. */
export interface CrossEntropyOptions extends NllOptions {
  /** What the target has of the same for all classes, instead of the label (Szegedy et al. 2016). Default: 0. */
  readonly labelSmoothing?: number | undefined;
}

const NLL: OptionNames<NllOptions> = {
  ...REDUCTION,
  axis: true,
  ignoreIndex: true,
  classWeights: true,
};
const CROSS_ENTROPY: OptionNames<CrossEntropyOptions> = { ...NLL, labelSmoothing: true };

/** Options, read. */
export interface ClassLoss {
  readonly axis: number | undefined;
  readonly ignoreIndex: number | undefined;
  readonly reduction: Reduction;
  readonly smoothing: number;
}

/** @param isLogits whether the scores are to be normalised */
const classLoss = (what: string, isLogits: boolean) =>
  layerOperation(what, (...given: ClassLossArguments): Value => {
    const [scores, labels, weights, call] = given;
    checkTensor(scores, `${what}: the scores`);
    checkTensor(labels, `${what}: the labels`);
    checkWhole(labels, `${what}: the labels`);
    const { shape } = scores;
    const axisGiven = call.axis ?? Math.min(1, shape.length - 1);
    const axis = checkAxis(what, axisGiven, shape.length, `shape ${formatShape(shape)}`);
    const wanted = shape.filter((_, at) => at !== axis);
    const { shape: own } = labels;
    if (own.length !== wanted.length || own.some((extent, at) => extent !== wanted[at])) {
      throw shapeError(
        `${what}: the scores are ${labelOf(scores)} with classes along axis ${axis}, and the labels ${labelOf(labels)}. Pass labels of shape ${formatShape(wanted)}, or name another axis.`,
      );
    }
    const { ignoreIndex, reduction, smoothing } = call;
    const counts = ignoreIndex === undefined ? undefined : labels.ne(ignoreIndex);
    const classes = shape[axis] ?? 0;
    if (weights !== undefined) checkWeights(what, weights, scores, classes);
    const top = isLogits ? scores.logSumExp(axis) : undefined;
    // NaN where there is no class, in gradients too: a step for such an example is none
    const losses = (share: number): Value =>
      exampleLosses(
        scores,
        top as KnownValue | undefined,
        labels,
        counts as KnownValue | undefined,
        { axis, smoothing: share },
      );
    if (weights === undefined) {
      const each = losses(smoothing);
      return counts === undefined || reduction !== 'mean'
        ? reduced(each, reduction)
        : each.sum().div(counts.sum());
    }
    // of one without a class the sum of the factors knows nothing
    const label = labels.ge(0).logicalAnd(labels.lt(classes)).where(labels, 0);
    const flat = label.reshape([sizeOfShape(wanted)]) as unknown as Tensor<'int32'>;
    const factors = weights.takeAlongAxis(flat, 0).reshape(wanted);
    const alone = losses(0).mul(factors as never);
    const all =
      smoothing === 0
        ? alone
        : alone.mul(1 - smoothing).add(ofAll(scores, weights, top, axis).mul(smoothing / classes));
    const counted = counts === undefined ? all : counts.where(all, 0);
    if (reduction !== 'mean') return reduced(counted, reduction);
    const total = counts === undefined ? factors : counts.where(factors, 0);
    return counted.sum().div(total.sum());
  });

/** Scores, labels and the weights of the classes. */
export type ClassLossArguments = readonly [
  scores: KnownValue,
  labels: KnownValue,
  weights: KnownValue | undefined,
  call: ClassLoss,
];

/** The weighted sum of the losses that each class would have: the sum of `w (top - score)`. */
function ofAll(
  scores: KnownValue,
  weights: KnownValue,
  top: Value | undefined,
  axis: number,
): Value {
  const along = weights.reshape(scores.shape.map((extent, at) => (at === axis ? extent : 1)));
  const sum = scores.mul(along as never).sum(axis);
  return top === undefined ? sum.neg() : top.mul(weights.sum() as never).sub(sum);
}

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH */
function checkWeights(
  what: string,
  weights: KnownValue,
  scores: KnownValue,
  classes: number,
): void {
  checkTensor(weights, `${what}: classWeights`);
  if (String(weights.shape) !== String(classes)) {
    throw shapeError(
      `${what}: classWeights is ${labelOf(weights)} for ${classes} classes. Pass a tensor of shape (${classes}).`,
    );
  }
  if (FLOATING.has(weights.dtype)) return;
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: classWeights is ${labelOf(weights)}. Pass floating numbers, such as ${scores.dtype}.`,
  );
}

const ofLogits = classLoss('crossEntropy', true);
const ofLogProbabilities = classLoss('nll', false);

function readCall(what: string, given: CrossEntropyOptions): ClassLoss {
  const { axis, ignoreIndex, labelSmoothing: smoothing = 0 } = given;
  checkNumber(smoothing, what, 'labelSmoothing', 0, 1);
  if (ignoreIndex !== undefined)
    checkCount(ignoreIndex, what, 'ignoreIndex', Number.MIN_SAFE_INTEGER);
  return { axis, ignoreIndex, smoothing, reduction: checkReduction(what, given.reduction) };
}

/**
 * The cross entropy of classes from logits: `logSumExp(logits) - logits[label]`, reduced over the examples. With label smoothing e the second term is `(1 - e)` times that and e
 * times the mean of the logits. With class weights each of the classes' terms has its weight.
 *
 * ```ts
 * import { losses } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const logits = await tensor([[0, 0, 0, 0]], where);
 * const labels = await tensor(Int32Array.of(2), where);
 * console.log(await losses.crossEntropy(logits, labels).item()); // 1.3862943649291992
 * ```
 *
 * @param logits (N, classes), (N, classes, ..), or (classes) of one example; with `axis` the classes lie along another axis
 * @param labels int32 or int64 of the other axes, from 0. One without a class, a negative one too, gives NaN for its example and its gradient; `ignoreIndex` names one that does not count
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, DEVICE_MISMATCH, DISPOSED
 */
export function crossEntropy(logits: Value, labels: Value, options?: CrossEntropyOptions): Value {
  const what = 'crossEntropy';
  const { classWeights, ...given } = readOptions(what, options, CROSS_ENTROPY);
  return ofLogits(logits, labels, classWeights, readCall(what, given));
}

/** The negative log-likelihood of classes from the logarithms of probabilities: `-log p[label]`. See {@link crossEntropy}. */
export function nll(logProbabilities: Value, labels: Value, options?: NllOptions): Value {
  const { classWeights, ...given } = readOptions('nll', options, NLL);
  return ofLogProbabilities(logProbabilities, labels, classWeights, readCall('nll', given));
}
