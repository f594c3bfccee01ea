import type { OptionNames } from '@mercer/options';
import type { Operand } from '@mercer/tensor';
import { readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkNumber } from '../checks.js';
import { checkTensor, labelOf, layerOperation, shapeError } from '../layers/layer-operation.js';
import {
  checkReduction,
  reduced,
  REDUCTION,
  type Reduction,
  type ReductionOption,
} from './reduced.js';

/** The losses of elements, and their reduction, once the shapes are known to be the same. */
const elementLoss = <E extends readonly unknown[]>(
  what: string,
  losses: (prediction: Value, target: Value, ...more: E) => Value,
): ((prediction: Value, target: Value, reduction: Reduction, ...more: E) => Value) =>
  layerOperation(
    what,
    (prediction: KnownValue, target: KnownValue, reduction: Reduction, ...more: E): Value => {
      checkTensor(prediction, `${what}: the prediction`);
      checkTensor(target, `${what}: the target`);
      const [own, other] = [prediction.shape, target.shape];
      if (own.length !== other.length || own.some((extent, axis) => extent !== other[axis])) {
        throw shapeError(
          `${what}: the prediction is ${labelOf(prediction)} and the target ${labelOf(target)}. Their shapes have to be the same; reshape() one of them.`,
        );
      }
      return reduced(losses(prediction, target, ...more), reduction);
    },
  ) as unknown as (prediction: Value, target: Value, reduction: Reduction, ...more: E) => Value;

const squared = elementLoss('mse', (p, t) => p.sub(t as Operand).square());

/**
 * The mean squared error: of `(prediction - target)^2`. Both have the same shape.
 *
 * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT, DEVICE_MISMATCH, DISPOSED
 */
export function mse(prediction: Value, target: Value, options?: ReductionOption): Value {
  const { reduction } = readOptions('mse', options, REDUCTION);
  return squared(prediction, target, checkReduction('mse', reduction));
}

const absolute = elementLoss('l1', (p, t) => p.sub(t as Operand).abs());

/** The mean absolute error: as {@link mse}, of `|prediction - target|`. */
export function l1(prediction: Value, target: Value, options?: ReductionOption): Value {
  const { reduction } = readOptions('l1', options, REDUCTION);
  return absolute(prediction, target, checkReduction('l1', reduction));
}

/** Options of {@link huber}. */
export interface HuberOptions extends ReductionOption {
  /** The error up to which it is quadratic. Default: 1. */
  readonly delta?: number | undefined;
}

const HUBER: OptionNames<HuberOptions> = { ...REDUCTION, delta: true };

const huberOf = elementLoss('huber', (p, t, delta: number) => {
  const error = p.sub(t).abs();
  // e^2 / 2 up to delta, delta (e - delta / 2) beyond
  const within = error.minimum(delta);
  return within.mul(error.sub(within.mul(0.5)));
});

/** Huber's loss (1964): half the square of errors up to `delta`, and `delta (|error| - delta / 2)` beyond, as in torch. See {@link mse}. */
export function huber(prediction: Value, target: Value, options?: HuberOptions): Value {
  const { reduction, delta = 1 } = readOptions('huber', options, HUBER);
  checkNumber(delta, 'huber', 'delta', Number.MIN_VALUE);
  return huberOf(prediction, target, checkReduction('huber', reduction), delta);
}

// by the sign of x, so that a loss near 0 is no difference of large numbers
const binary = elementLoss('binaryCrossEntropyWithLogits', (x, y) => {
  const product = x.mul(y);
  return x.gt(0).where(x.neg().softplus().add(x.sub(product)), x.softplus().sub(product));
});

/**
 * The cross entropy of two classes from logits: `log(1 + exp(x)) - x y`, without overflow. The target y is a probability, such as 0 or 1, of the logits' shape. See {@link mse}.
 */
export function binaryCrossEntropyWithLogits(
  logits: Value,
  target: Value,
  options?: ReductionOption,
): Value {
  const what = 'binaryCrossEntropyWithLogits';
  const { reduction } = readOptions(what, options, REDUCTION);
  return binary(logits, target, checkReduction(what, reduction));
}
