import { describeValue, type OptionNames } from '@mercer/options';
import {
  isPending,
  isTensor,
  MercerError,
  type Pending,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import { isTraced, readOptions } from '@mercer/tensor/operation';
import { checkCount, checkNumber } from '../checks.js';
import type { LossScaling } from '../decide.js';
import { composedFor, optimiserOf } from '../optimiser-of.js';
import { OptimError } from '../optim-error.js';
import type { Optimiser, OptimiserState } from '../optimiser.js';

/** Options of {@link lossScale}. */
export interface LossScaleOptions {
  /** The first scale; default 65536. */
  readonly initial?: number | undefined;
  /** What the scale is multiplied by after `interval` steps in a row that were taken; default 2. */
  readonly growth?: number | undefined;
  /** What it is multiplied by where a gradient is not finite; default 0.5. */
  readonly backoff?: number | undefined;
  /** Whole; default 2000. */
  readonly interval?: number | undefined;
}

const LOSS_SCALE_OPTIONS: OptionNames<LossScaleOptions> = {
  initial: true,
  growth: true,
  backoff: true,
  interval: true,
};

/** An optimiser that is given gradients of a scaled loss. */
export interface ScaledOptimiser extends Optimiser {
  /** The loss times the scale of the state: what is differentiated. */
  scaled(loss: TensorOperand, state: OptimiserState): Pending<Tensor>;
}

/**
 * Scales the loss, so that gradients in float16 neither vanish nor overflow (Micikevicius et al. 2018). A step divides its gradients by the scale, and is
 * skipped where one is not finite, which makes the scale smaller; after a number of good steps it grows. The device decides all of it. bfloat16 needs none.
 *
 * ```ts
 * import { grad } from '@mercer/autodiff';
 * import { lossScale, sgd } from '@mercer/optim';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const optimiser = lossScale(sgd({ lr: 0.25 }), { initial: 1024 });
 * const w = await tensor([1, 2], { device: 'cpu', dtype: 'float16' });
 * using state = await optimiser.init(w);
 * const gradient = grad((x: Tensor) => optimiser.scaled(x.square().sum(), state));
 * await optimiser.step(w, await gradient(w), state);
 * console.log(await w.toNested()); // [ 0.5, 1 ]
 * ```
 *
 * Statistics for `kfac` are of the scaled loss too, as `withStatistics` gives them with its gradient.
 *
 * @param optimiser of this package, but `lbfgs`, `naturalGradient` and `kfac` with adaptive damping
 * @throws MercerError INVALID_ARGUMENT
 */
export function lossScale(optimiser: Optimiser, options?: LossScaleOptions): ScaledOptimiser {
  const what = 'lossScale';
  const given = readOptions(what, options, LOSS_SCALE_OPTIONS);
  const lossScaling: LossScaling = {
    initial: checkNumber(given.initial ?? 65536, what, 'initial', 2 ** -24, 2 ** 60),
    growth: checkNumber(given.growth ?? 2, what, 'growth', 1, 2 ** 16),
    backoff: checkNumber(given.backoff ?? 0.5, what, 'backoff', 2 ** -16, 1),
    interval: checkCount(given.interval ?? 2000, what, 'interval'),
  };
  const { rule, settings } = composedFor(optimiser, what);
  if (rule.refusesScale !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${rule.name} ${rule.refusesScale}. Keep the loss as it is, with parameters and products in bfloat16 or float32, which need no scale.`,
    );
  }
  const inner = optimiserOf(rule, { ...settings, lossScaling });
  return Object.assign(inner, {
    scaled(loss: TensorOperand, state: OptimiserState): Pending<Tensor> {
      const scale = (state as OptimiserState | undefined)?.tensors.get('lossScale');
      if (scale === undefined) {
        throw new OptimError(
          'WRONG_STATE',
          `${what}: the state has no lossScale. Pass the state that init() of this optimiser made.`,
        );
      }
      const given: unknown = loss;
      if (!isTensor(given) && !isTraced(given) && !isPending(given)) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: the loss is ${describeValue(given)}. Pass the loss itself, inside the function that is differentiated, as grad((p) => optimiser.scaled(loss(p), state)).`,
        );
      }
      return (loss as Tensor).mul(scale as Tensor<'float32'>);
    },
  });
}
