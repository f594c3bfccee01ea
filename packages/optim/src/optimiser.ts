import type { Tree } from '@mercer/autodiff';
import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import type { Statistics } from './statistics/layer-statistics.js';

/**
 * What an optimiser remembers between steps: tensors by name, beside each parameter, and how many steps were taken. Names are the
 * parameter's path, a slash and the slot: `layers[0].weight/m`. Numbers of all together have a name alone: `count` is how many steps were taken, `skips` how many were not; those of a group have its name before them, `<group>:damping`. Disposing of the
 * state disposes of its tensors.
 */
export interface OptimiserState extends Disposable {
  /** The optimiser that it belongs to, such as `adam`. */
  readonly optimiser: string;
  /** Steps so far: calls of `step` and, as of the next call or checkpoint, replays of a prepared one, which the device counts. Schedules are given one more. */
  step: number;
  readonly tensors: ReadonlyMap<string, Tensor>;
}

/** Parameters: a tensor, or objects and arrays of them, as deep as one likes; objects of interfaces too, which have no index signature. */
export type Params<P> = Tensor | ({ readonly [K in keyof P]: object } & object);

/** What some optimisers need beside the gradients. Each optimiser names what it misses. */
export interface StepExtras<P extends object = Tree> {
  /** The loss at the parameters as they are: what `lbfgs` and adaptive damping compare with. */
  readonly value?: Tensor;
  /**
   * The loss and its gradients at other parameters of the same tree. `lbfgs` calls it in its line search, `kfac` where it adapts the damping. The optimiser disposes of the loss and
   * of all gradients that it gives, so that they have to be new tensors; the parameters that it is given are the optimiser's too.
   */
  readonly evaluate?: (params: P) => PromiseLike<{ readonly value: Tensor; readonly grad: object }>;
  /** What each layer saw, from `withStatistics(f)`: for `kfac`. */
  readonly statistics?: Statistics;
  /** Gradients of the loss of each example, with the data's labels: for `naturalGradient` with the empirical Fisher matrix. */
  readonly perSample?: PerSample<P>;
  /** The same with labels that are drawn from the model: for the true Fisher matrix. */
  readonly modelPerSample?: PerSample<P>;
}

/**
 * Gradients of N examples: a matrix (N, P) whose columns are all elements of the parameters, in their order; or a tree like the parameters, of tensors (N, ..shape). Or a function of the parameters that gives
 * either; the optimiser disposes of what it gives.
 */
export type PerSample<P extends object = Tree> = object | ((params: P) => PromiseLike<object>);

/** Names of {@link StepExtras}. */
export const STEP_EXTRAS: OptionNames<StepExtras> = {
  value: true,
  evaluate: true,
  statistics: true,
  perSample: true,
  modelPerSample: true,
};

/** What a step says when its work is enqueued. */
export interface StepReport {
  /**
   * A 0-d int32 tensor: 1 where a gradient was not finite and nothing was changed, 0 otherwise. The device decides, so reading it waits. A step of `lbfgs` that went on from where
   * loss and gradient were finite says 1 too, and ends at the last such point.
   */
  readonly skipped: Tensor;
}

/** What a refresh says when its work is enqueued. */
export interface RefreshReport {
  /** A 0-d int32 tensor: how often in a row a matrix had no root, basis or inverse, of the one with most; 0 where all have one. The device counts, so reading it waits. */
  readonly failures: Tensor;
}

/** An optimiser: it holds options only. What it remembers is the state, which `init` makes and `step` updates in place, as it updates the parameters. */
export interface Optimiser {
  readonly name: string;
  init<P extends Params<P>>(params: P): Promise<OptimiserState>;
  /** @param grads a tree like the parameters, as `grad` gives it */
  step<P extends Params<P>>(
    params: P,
    grads: object,
    state: OptimiserState,
    extras?: StepExtras<P>,
  ): Promise<StepReport>;
  /**
   * Computes preconditioners anew from what the steps so far have gathered: of `shampoo`, `soap` and `kfac` with `frequency: 'manual'`, whose steps count no refresh and can so be
   * captured by `prepare`. The next step has them. Await it before that step, or its replay. In groups those of all groups that refresh by hand.
   *
   * @throws MercerError INVALID_ARGUMENT where there is nothing to refresh by hand; OptimError WRONG_STATE, NO_PRECONDITIONER, and of `kfac` MISSING_STATISTICS before the first step
   */
  refresh<P extends Params<P>>(params: P, state: OptimiserState): Promise<RefreshReport>;
}
