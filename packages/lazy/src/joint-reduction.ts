import type { Reduction } from '@mercer/formula';
import type { MapReducePlan } from '@mercer/kernels';
import { describeValue, INSPECT } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { formulasOf, localHandle } from '@mercer/tensor/operation';
import { argumentCount } from './bind-arguments.js';
import type { PrepareOptions, PreparedOptions } from './call-options.js';
import { commonExtent } from './extent.js';
import type { Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { LazyReduction, type PreparedRanges } from './lazy-reduction.js';
import type { LazyData } from './make-input.js';
import type {
  IndexDType,
  IndexOption,
  LazyAxis,
  OutDType,
  OutDTypeOption,
  ReduceOptions,
  ResultOf,
} from './reduction-types.js';
import { computed, prepared } from './reductions.js';
import { asResult, NO_RESULTS, type Results } from './results.js';
import { merge } from './symbolic.js';
import type { JointTask, Reductions } from './task.js';

const HANDLE = localHandle(
  'a joint reduction',
  'Send the formula as text and the data as typed arrays, and call genred or lazyI there.',
);

/** Reductions by the names of their results. */
export type NamedReductions = Readonly<Record<string, LazyReduction>>;

/** The results of reductions, by name. */
export type JointResults<
  R extends NamedReductions,
  I extends IndexDType = 'int32',
  O extends OutDType | undefined = undefined,
> = {
  readonly [N in keyof R]: R[N] extends LazyReduction<infer K, infer D>
    ? ResultOf<K, O extends OutDType ? O : D, I>
    : never;
};

/** Joint reductions whose kernels are compiled and loaded, as `PreparedReduction`. */
export interface PreparedJointReduction<
  R extends NamedReductions,
  I extends IndexDType = 'int32',
  O extends OutDType | undefined = undefined,
> extends PreparedRanges {
  (
    args: readonly Tensor[],
    options?: PreparedOptions<Partial<JointResults<R, I, O>>>,
  ): JointResults<R, I, O>;
  /** The plan of each pass: of one for all, or of one for each reduction. */
  readonly plans: readonly MapReducePlan[];
}

/**
 * Several reductions over the same rows in one pass, described but not computed: what `jointReduction` gives. What their
 * formulas share is computed once. Immutable.
 */
export class JointReduction<R extends NamedReductions = NamedReductions> {
  private readonly handle = HANDLE;
  /** The reductions, each over its own inputs. */
  readonly parts: R;
  /** The inputs of all, each once. */
  readonly inputs: readonly Input[];
  readonly #task: JointTask;

  /** @internal Use `jointReduction`. */
  constructor(what: string, parts: R) {
    this.parts = Object.freeze({ ...parts });
    const { reductions, inputs } = merged(what, parts);
    commonExtent(what, inputs);
    this.inputs = Object.freeze([...inputs]);
    this.#task = { what, reductions, inputs: this.inputs, names: Object.keys(parts) };
  }

  /** The side that is reduced. */
  get axis(): LazyAxis {
    return this.#task.reductions[0].axis === 1 ? 'j' : 'i';
  }

  /** How many arguments a call takes: one for each placeholder, by position. */
  get argumentCount(): number {
    return argumentCount(this.inputs);
  }

  /**
   * Computes all reductions, with data for every placeholder in the order of their positions. `out` takes results by name,
   * some or all. Resolves when the work is enqueued.
   *
   * @throws LazyError, MercerError, naming the result where it is about one
   */
  async call<I extends IndexDType = 'int32', O extends OutDType | undefined = undefined>(
    args: readonly LazyData[] = [],
    options?: ReduceOptions<Partial<JointResults<R, NoInfer<I>, NoInfer<O>>>> &
      IndexOption<I> &
      OutDTypeOption<NonNullable<O>>,
  ): Promise<JointResults<R, I, O>> {
    return this.#named(await computed(this.#task, args, options));
  }

  /**
   * Compiles the reductions for tensors like these, of which only dtype, device, dims and sizes are read. Calls may have other
   * numbers of rows; the plan is the quickest for numbers like these.
   */
  async prepare<I extends IndexDType = 'int32', O extends OutDType | undefined = undefined>(
    args: readonly Tensor[] = [],
    options?: PrepareOptions<I, NonNullable<O>>,
  ): Promise<PreparedJointReduction<R, I, O>> {
    const { plans, run, dispose } = await prepared(this.#task, args, options);
    const call = (
      tensors: readonly Tensor[],
      callOptions?: PreparedOptions<Partial<JointResults<R, I, O>>>,
    ): JointResults<R, I, O> => this.#named(run(tensors, callOptions));
    return Object.assign(call, { plans, dispose, [Symbol.dispose]: dispose });
  }

  #named<I extends IndexDType, O extends OutDType | undefined>(
    results: readonly Results[],
  ): JointResults<R, I, O> {
    const named = Object.keys(this.parts).map((name, at) => [
      name,
      asResult(results[at] ?? NO_RESULTS),
    ]);
    return Object.fromEntries(named) as JointResults<R, I, O>;
  }

  /** The reductions, never their numbers. */
  toString(): string {
    const parts = Object.entries(this.parts).map(([name, one]) => `${name}: ${one.toString()}`);
    return `JointReduction(${parts.join(', ')})`;
  }

  [INSPECT](): string {
    return this.toString();
  }
}

/**
 * Several reductions over the same rows as one, with results by name: a sum, a count and the nearest rows of one formula, or of
 * several. They are computed in one pass over the pairs of rows, in which shared parts of the formulas are computed once. Where formulas
 * of long vectors share little, a pass for each is quicker and is taken. All results have the common batch axes.
 *
 * `accumulate` and `sumScheme` hold for all sums; what compares or counts beside them has nothing to add up. They are refused
 * where there is no sum, and beside Prod and Var, which they do not go with.
 *
 * @param reductions what `LazyTensor.reduction` and `genred(..).reduction` give, of one axis. Placeholders of equal position are
 * one argument
 * @throws LazyError INVALID_ARGUMENT for none, for something else, and for different axes; MercerError where the rows, batch
 * axes, dtypes or devices of two differ
 *
 * @example
 * ```ts
 * import { jointReduction, lazyI, lazyJ } from '@mercer/lazy';
 *
 * const x = lazyI({ position: 0, dim: 1 });
 * const y = lazyJ({ position: 1, dim: 1 });
 * const distance = x.sub(y).abs();
 * const both = jointReduction({
 *   mean: distance.reduction('Mean', 'j'),
 *   nearest: distance.reduction('MinArgMin', 'j'),
 * });
 * const { mean, nearest } = await both.call([[[0], [5]], [[1], [7]]], { device: 'cpu' });
 * console.log(await mean.toNested()); // [ [ 4 ], [ 3 ] ]
 * console.log(await nearest.indices.toNested()); // [ [ 0 ], [ 1 ] ]
 * ```
 */
export function jointReduction<const R extends NamedReductions>(reductions: R): JointReduction<R> {
  return new JointReduction('jointReduction', reductions);
}

function merged(
  what: string,
  parts: NamedReductions,
): { readonly reductions: Reductions; readonly inputs: readonly Input[] } {
  const named = Object.entries((parts as NamedReductions | undefined) ?? {});
  checkParts(what, named);
  const { formulas, inputs } = merge(
    named.flatMap(([, one]) =>
      formulasOf([one.reduction]).map((formula) => ({ formula, inputs: one.inputs })),
    ),
  );
  const rest = formulas.values();
  const moved = named.map(([, { reduction }]): Reduction => {
    const formula = rest.next().value ?? reduction.formula;
    if (reduction.weight === undefined) return Object.freeze({ ...reduction, formula });
    return Object.freeze({ ...reduction, formula, weight: rest.next().value ?? reduction.weight });
  });
  const [first, ...others] = moved;
  if (first === undefined) throw new Error('checkParts asks for a reduction');
  return { reductions: [first, ...others], inputs };
}

function checkParts(what: string, named: readonly (readonly [string, LazyReduction])[]): void {
  const [first] = named;
  if (first === undefined) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: there is no reduction. Pass an object with at least one, such as { sum: x.reduction('Sum', 'j') }.`,
    );
  }
  for (const [name, one] of named) {
    if (!((one as unknown) instanceof LazyReduction)) {
      throw new LazyError(
        'INVALID_ARGUMENT',
        `${what}: ${name} is ${describeValue(one)}. Pass what LazyTensor.reduction or genred(..).reduction gives.`,
      );
    }
    if (one.axis === first[1].axis) continue;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${first[0]} is over ${first[1].axis}, and ${name} over ${one.axis}. One pass keeps one side: reduce both over the same one, or call them apart.`,
    );
  }
}
