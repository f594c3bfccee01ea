import { INSPECT } from '@mercer/options';
import { outputsOf, printReduction, type Reduction, type ReductionKind } from '@mercer/formula';
import type { MapReducePlan } from '@mercer/kernels';
import type { Tensor } from '@mercer/tensor';
import { localHandle } from '@mercer/tensor/operation';
import { argumentCount, bindArguments } from './bind-arguments.js';
import type { PrepareOptions, PreparedOptions } from './call-options.js';
import { commonExtent } from './extent.js';
import { describeInput, type Input } from './input.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyData } from './make-input.js';
import type {
  CallReduceOptions,
  IndexDType,
  LazyAxis,
  OutDType,
  PendingResult,
  ResultOf,
} from './reduction-types.js';
import { prepared, promisedResult } from './reductions.js';
import { asResult, NO_RESULTS } from './results.js';
import { inputNames } from './symbolic.js';
import type { JointTask, Task } from './task.js';

const HANDLE = localHandle(
  'a reduction',
  'Send the formula as text and the data as typed arrays, and call genred or lazyI there.',
);

/** What a prepared call holds beside its kernels. */
export interface PreparedRanges {
  /** Returns the memory that ranges take on the device, if there are any; a later call is an error then. */
  readonly dispose: () => void;
  readonly [Symbol.dispose]: () => void;
}

/**
 * A reduction whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and returns the result. dtype,
 * device, dims and the formula are fixed; the numbers of rows and the batch are free. Prepared with ranges, the numbers of rows
 * are fixed too, and `dispose` returns what the ranges hold. Row numbers in results are int32, or int64 where it was prepared with
 * `indexDtype: 'int64'`.
 *
 * It blocks only while the stream has no room for another launch: `await stream.room()` between calls avoids that.
 *
 * @throws LazyError and MercerError as the reduction does; NOT_CONTIGUOUS where an input would have to be copied first
 */
export interface PreparedReduction<
  K extends ReductionKind,
  D extends OutDType = LazyDType,
  I extends IndexDType = 'int32',
> extends PreparedRanges {
  (
    args: readonly Tensor[],
    options?: PreparedOptions<ResultOf<K, D | LazyDType, I>>,
  ): ResultOf<K, D, I>;
  /** The plan used; it was chosen for sizes like those of the examples. */
  readonly plan: MapReducePlan;
}

/**
 * A reduction of a symbolic formula, described but not computed: what `LazyTensor.reduction` and `genred` give. Immutable.
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 *
 * const x = lazyI({ position: 0, dim: 2 });
 * const y = lazyJ({ position: 1, dim: 2 });
 * const energy = x.sqdist(y).neg().exp().reduction('Sum', 'j');
 * const sums = await energy.call([[[0, 0]], [[0, 0], [0, 0]]], { device: 'cpu' });
 * console.log(await sums.toNested()); // [ [ 2 ] ]
 * ```
 */
export class LazyReduction<
  K extends ReductionKind = ReductionKind,
  D extends LazyDType = LazyDType,
> {
  private readonly handle = HANDLE;
  /** The reduction over inputs by place: see `inputs`. */
  readonly reduction: Reduction & { readonly kind: K };
  readonly inputs: readonly Input[];
  readonly #task: JointTask;

  /** @internal Use `LazyTensor.reduction` or `genred`. */
  constructor(what: string, reduction: Reduction, inputs: readonly Input[]) {
    this.inputs = Object.isFrozen(inputs) ? inputs : Object.freeze([...inputs]);
    commonExtent(what, this.inputs);
    this.reduction = reduction as Reduction & { readonly kind: K };
    this.#task = { what, reductions: [reduction], inputs: this.inputs, names: undefined };
  }

  /** The side that is reduced. */
  get axis(): LazyAxis {
    return this.reduction.axis === 1 ? 'j' : 'i';
  }

  /** How many numbers each row of the result has. */
  get dim(): number {
    return outputsOf(this.reduction)[0]?.dim ?? 1;
  }

  /** How many arguments a call takes: one for each placeholder, by position. */
  get argumentCount(): number {
    return argumentCount(this.inputs);
  }

  /** @internal What a call computes. */
  get task(): Task {
    return { what: this.#task.what, reduction: this.reduction, inputs: this.inputs };
  }

  /**
   * Computes the reduction, with data for every placeholder in the order of their positions. Resolves when the work is
   * enqueued.
   *
   * @throws LazyError, MercerError
   */
  call<I extends IndexDType = 'int32', O extends OutDType = D>(
    args: readonly LazyData[] = [],
    options?: CallReduceOptions<K, O, I>,
  ): PendingResult<ResultOf<K, O, I>> {
    return promisedResult<K, O, I>(this.reduction.kind, () => this.#task, args, options);
  }

  /**
   * The same reduction with data in the place of its placeholders: what `gradient` takes.
   *
   * @throws LazyError, MercerError as `call`
   */
  bind(args: readonly LazyData[]): LazyReduction<K, D> {
    const { what, inputs } = this.#task;
    return new LazyReduction<K, D>(what, this.reduction, bindArguments(what, inputs, args));
  }

  /**
   * Compiles the reduction for tensors like these, of which only dtype, device, dims and sizes are read. Calls may have other
   * numbers of rows; the plan is the quickest for numbers like these.
   */
  async prepare<I extends IndexDType = 'int32', O extends OutDType = D>(
    args: readonly Tensor[] = [],
    options?: PrepareOptions<I, O>,
  ): Promise<PreparedReduction<K, O, I>> {
    const { plans, run, dispose } = await prepared(this.#task, args, options);
    const [plan] = plans;
    if (plan === undefined) throw new Error('a task has a pass');
    const call = (
      tensors: readonly Tensor[],
      callOptions?: PreparedOptions<ResultOf<K, O | LazyDType, I>>,
    ): ResultOf<K, O, I> => {
      const [results = NO_RESULTS] = run(tensors, callOptions);
      return asResult<K, O, I>(results);
    };
    return Object.assign(call, { plan, dispose, [Symbol.dispose]: dispose });
  }

  /** The formula and the inputs, never their numbers. */
  toString(): string {
    const text = printReduction(this.reduction, { names: inputNames(this.inputs) });
    const names = [...inputNames(this.inputs).keys()];
    const inputs = this.inputs.map((one, at) => describeInput({ ...one, name: names[at] }));
    return `LazyReduction(${[text, ...inputs].join('; ')})`;
  }

  [INSPECT](): string {
    return this.toString();
  }
}
