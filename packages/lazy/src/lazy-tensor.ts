import { ops, type DefinedOperation, type ReductionKind, type VectorExpr } from '@mercer/formula';
import { describeValue } from '@mercer/options';
import { isPending, type Pending, type Tensor } from '@mercer/tensor';
import { attachTo, pendingCall } from '@mercer/tensor/operation';
import { readOptions, REDUCE_OPTIONS } from './call-options.js';
import { binCounts, HISTOGRAM_OPTIONS, type HistogramOptions } from './histogram.js';
import { nodeAt, type Input } from './input.js';
import { JointReduction } from './joint-reduction.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import {
  checkOperand,
  combined,
  LazyFormula,
  type LazyOperand,
  type Rules,
} from './lazy-formula.js';
import { OPERATIONS, type LazyOperations } from './lazy-operations.js';
import type { LazyReduction } from './lazy-reduction.js';
import {
  checkAxis,
  describeReduction,
  DESCRIBE_OPTIONS,
  reduce,
  reduced,
  REDUCTIONS,
  type DescribeOptions,
  type LazyReductions,
} from './lazy-reductions.js';
import { matrixInput, parameterInput, type LazyData } from './make-input.js';
import { nonzeroPairs } from './nonzero.js';
import { onceThere } from './once-there.js';
import { pendingReduction } from './reductions.js';
import {
  SPEC_OPTIONS,
  type ManyResults,
  type ReductionSpec,
  type ReductionSpecs,
} from './reduce-many.js';
import type {
  IndexDType,
  IndexOption,
  LazyAxis,
  OutDType,
  OutDTypeOption,
  ReduceOptions,
} from './reduction-types.js';
import { NONZERO_OPTIONS, type NonzeroOptions, type SelectedPairs } from './selected-pairs.js';
import { combine, merge, type Symbolic } from './symbolic.js';
import { isTensorLike, mapped } from './traced-inputs.js';

const RULES: Rules<LazyOperations & LazyReductions> = { ...OPERATIONS, ...REDUCTIONS };

type AnyRule = (what: string, x: LazyTensor, ...args: never[]) => Symbolic | Promise<unknown>;

// What RULES install: the type of the table demands a rule for every method, and for nothing else.
export interface LazyTensor<D extends LazyDType = LazyDType>
  extends LazyOperations, LazyReductions<D> {}

/**
 * A symbolic matrix: for every row i and every row j a vector of `dim` numbers, given by a formula of their data and never
 * stored. Immutable; every method makes another.
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const points = await tensor([[0, 0], [3, 4]], { device: 'cpu' });
 * const distances = lazyI(points).sub(lazyJ(points)).sqnorm2().sqrt();
 * console.log(distances.shape); // [ 2, 2, 1 ]
 * console.log(await (await distances.sum('j')).toNested()); // [ [ 5 ], [ 5 ] ]
 * ```
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see RULES
export class LazyTensor<D extends LazyDType = LazyDType> extends LazyFormula<D> {
  readonly field = 'real';

  static {
    for (const [what, rule] of Object.entries<AnyRule>(RULES)) {
      // Called as the method is, also in stacks.
      attachTo(this.prototype, {
        [what](this: LazyTensor, ...args: never[]): unknown {
          const made = rule(what, this, ...args);
          return made instanceof Promise ? made : this.derive(what, made);
        },
      });
    }
  }

  protected override derive(what: string, of: Symbolic): this {
    return new LazyTensor<D>(what, of, this) as this;
  }

  /**
   * An operation of `defineOp` of `@mercer/formula`, with this as its first argument: differentiable, and computed in the kernel.
   *
   * @throws LazyError INVALID_ARGUMENT for another number of arguments, and what the operations inside say
   *
   * @example
   * ```ts
   * import { defineOp, ops } from '@mercer/formula';
   * import { lazyI } from '@mercer/lazy';
   *
   * const swish = defineOp('Swish', ['x', 'beta'], ({ x, beta }) => ops.mul(x, ops.logistic(ops.mul(beta, x))));
   * const sums = await lazyI([[0], [100]]).operation(swish, 2).sum('j', { device: 'cpu' });
   * console.log(await sums.toNested()); // [ [ 0 ], [ 100 ] ]
   * ```
   */
  operation(op: DefinedOperation, ...others: readonly LazyOperand[]): this {
    return this.derive(op.opName, combined(op.opName, this, others, op));
  }

  /**
   * A reduction to be called later, once or often, with data for the placeholders: KeOps' `call=False`.
   *
   * @throws LazyError for an axis that is not 'i' or 'j', a weight or k that is missing or not taken
   */
  reduction<K extends ReductionKind>(
    kind: K,
    axis: LazyAxis,
    options?: DescribeOptions,
  ): LazyReduction<K, D> {
    const given: unknown = kind;
    const what = typeof given === 'string' ? given : 'reduction';
    return describeReduction(what, this, kind, axis, readOptions(what, options, DESCRIBE_OPTIONS));
  }

  /**
   * The matrix times vectors: `sum_j this(i, j) v_j`, (..batch, M, E) for v (..batch, N, E); a single vector (N) gives (M). This
   * has dim 1, or that of v. Of complex v, `complexOf(lazyJ(v))`, the result is complex, in pairs. A result that is not there yet is waited for.
   *
   * @throws LazyError DIM_MISMATCH; MercerError as `sum`
   */
  matmul<O extends OutDType = D>(
    v: LazyData | Pending<Tensor> | LazyFormula,
    options?: ReduceOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>> {
    if (isPending(v)) return onceThere(v, this, options, (there) => this.matmul(there, options));
    const inputs = v instanceof LazyFormula ? [...this.inputs, ...v.inputs] : this.inputs;
    return pendingReduction(inputs, [v], options, (): Tensor<O> | Promise<Tensor<O>> => {
      if (v instanceof LazyFormula) return this.#times(v, productOver(v), options);
      if (isVector(v)) return this.#timesVector(parameterInput('matmul', v, 'v'), options);
      return this.#timesRows(matrixInput('matmul', v, 'j', 'v'), options);
    });
  }

  #timesVector<O extends OutDType>(
    v: Input,
    options?: ProductOptions<O>,
  ): Tensor<O> | Promise<Tensor<O>> {
    const column: Input = {
      ...v,
      category: 'j',
      dim: 1,
      steps: [{ op: 'insert', axis: -1 }],
      extent: { rows: v.dim, columns: undefined, batchShape: [] },
    };
    const { out, ...rest } = readOptions<ProductOptions<O>>('matmul', options, REDUCE_OPTIONS);
    if (out !== undefined) return this.#intoVector(column, out, rest);
    return mapped(this.#timesRows(column, rest), (made) => {
      using result = made;
      return result.slice(...result.shape.map((_, axis) => (axis === result.rank - 1 ? 0 : null)));
    });
  }

  async #intoVector<O extends OutDType>(
    v: Input,
    out: Tensor<O>,
    options: ProductOptions<O>,
  ): Promise<Tensor<O>> {
    using front = out.broadcastTo([1, ...out.shape]);
    using view = front.permute([...out.shape.map((_, axis) => axis + 1), 0]);
    await this.#timesRows(v, { ...options, out: view });
    return out;
  }

  #timesRows<O extends OutDType>(
    v: Input,
    options?: ProductOptions<O>,
  ): Tensor<O> | Promise<Tensor<O>> {
    return this.#times({ formula: nodeAt(v, 0), inputs: [v] }, ops.mul, options);
  }

  #times<O extends OutDType>(
    v: Symbolic,
    multiply: (f: VectorExpr, g: VectorExpr) => VectorExpr,
    options?: ProductOptions<O>,
  ): Tensor<O> | Promise<Tensor<O>> {
    const product = combine('matmul', [this, v], multiply);
    return reduced<'Sum', O, 'int32'>('matmul', product, 'Sum', 'j', options);
  }

  /**
   * Several reductions over a side in one pass, with results by name; see `jointReduction`, which does this for later calls.
   *
   * @param specs by name a kind, or `{ kind, of, weight, k }`, where `of` is another matrix over the same rows
   * @throws LazyError, MercerError as `jointReduction` and its calls
   *
   * @example
   * ```ts
   * import { lazyI, lazyJ } from '@mercer/lazy';
   *
   * const [x, y] = [lazyI([[0], [5]]), lazyJ([[1], [2], [7]])];
   * const { sum, nearest } = await x.sqdist(y).reduceMany(
   *   'j',
   *   { sum: { kind: 'Sum', of: y }, nearest: { kind: 'ArgKMin', k: 2 } },
   *   { device: 'cpu' },
   * );
   * console.log(await sum.toNested()); // [ [ 10 ], [ 10 ] ]
   * console.log(await nearest.toNested()); // [ [ 0, 1 ], [ 2, 1 ] ]
   * ```
   */
  async reduceMany<
    const S extends ReductionSpecs,
    I extends IndexDType = 'int32',
    O extends OutDType = D,
  >(
    axis: LazyAxis,
    specs: S,
    options?: ReduceOptions<Partial<ManyResults<S, NoInfer<O>, NoInfer<I>>>> &
      IndexOption<I> &
      OutDTypeOption<O>,
  ): Promise<ManyResults<S, O, I>> {
    const parts = Object.entries<ReductionKind | ReductionSpec>(specs).map(([name, spec]) => {
      const what = `reduceMany: ${name}`;
      const given = typeof spec === 'string' ? { kind: spec } : spec;
      const { kind, of = this, ...rest } = readOptions(what, given, SPEC_OPTIONS);
      checkMatrix(`${what}: of`, of);
      return [name, of.reduction(kind, axis, rest)] as const;
    });
    const joint = new JointReduction('reduceMany', Object.fromEntries(parts));
    return (await joint.call<I, O>([], options as object)) as ManyResults<S, O, I>;
  }

  /**
   * The pairs of rows at which this, of dim 1, is not 0, as a sparse matrix in compressed rows: over 'j', for every row i the
   * rows of j, in order. A NaN is not 0. Unlike reductions it waits for the device, which has to count the pairs before there
   * is a place for them. So it cannot be prepared, and `prepare` refuses a function that calls it: what is launched behind the count, and the shapes of
   * the results, are those of this count, also with an `out` that has room for more. `argKMin` finds as many neighbours of each row as it is
   * asked for, and can be prepared.
   *
   * With `devices`, `maxBytes` or `onProgress`, or with rows of a file, pairs are found block by block, as reductions are computed, and put
   * together in host memory.
   *
   * @throws LazyError DIM_MISMATCH for a mask of another dim, UNBOUND_VARIABLE for placeholders, UNSUPPORTED for more
   * than 64 values, and where not in blocks for sides of more than 2^24 rows in float32; MercerError as `sum`
   *
   * @example
   * ```ts
   * import { lazyI, lazyJ } from '@mercer/lazy';
   *
   * // Neighbours within a radius of 1.5, with their distances.
   * const x = [[0], [1], [2], [9]];
   * const distance = lazyI(x).sub(lazyJ(x)).norm2();
   * const near = distance.le(1.5);
   * const found = await near.nonzero('j', { values: distance, device: 'cpu' });
   * console.log((await found.offsets.toTypedArray()).join(' ')); // 0 2 5 7 8
   * console.log((await found.indices.toTypedArray()).join(' ')); // 0 1 0 1 2 1 2 3
   * console.log((await found.values?.toTypedArray())?.join(' ')); // 0 1 1 0 1 1 0 0
   * ```
   */
  async nonzero(axis: LazyAxis, given?: NonzeroOptions): Promise<SelectedPairs<D>> {
    const { values, ...options } = readOptions('nonzero', given, NONZERO_OPTIONS);
    checkAxis('nonzero', axis);
    const parts = values === undefined ? [] : [checkOperand('nonzero: values', values, this.field)];
    const pairs = await nonzeroPairs(merge([this, ...parts]), axis === 'j' ? 1 : 0, options);
    return pairs as SelectedPairs<D>;
  }

  /**
   * How many values over a side fall into each of `bins` bins of equal width, or the sums of their weights: (..batch, rows,
   * bins). This has dim 1. Bin k begins at `low + k (high - low) / bins`, as the dtype rounds it; the last bin has its upper edge too, and values
   * outside and NaN count nowhere, as in numpy. Counts are whole up to 2^24 in float32.
   *
   * @throws LazyError DIM_MISMATCH, INVALID_ARGUMENT for bins or a range that are none; MercerError as `sum`
   *
   * @example
   * ```ts
   * import { lazyI, lazyJ } from '@mercer/lazy';
   *
   * const distance = lazyI([[0], [10]]).sub(lazyJ([[1], [2], [9]])).abs();
   * const counts = await distance.histogram('j', { bins: 2, range: [0, 10], device: 'cpu' });
   * console.log(await counts.toNested()); // [ [ 2, 1 ], [ 1, 2 ] ]
   * ```
   */
  histogram<O extends OutDType = D>(
    axis: LazyAxis,
    options: HistogramOptions<NoInfer<O>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>> {
    return pendingCall((): Promise<Tensor<O>> => {
      const given = readOptions('histogram', options, HISTOGRAM_OPTIONS);
      const { bins, range, weight, ...rest } = given;
      return reduce('histogram', binCounts(this, { bins, range, weight }), 'Sum', axis, rest);
    });
  }
}

/** @throws LazyError INVALID_ARGUMENT */
function checkMatrix(place: string, of: unknown): asserts of is LazyTensor {
  if (of instanceof LazyTensor) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${place} is ${of instanceof LazyFormula ? 'complex' : describeValue(of)}. Pass a symbolic matrix of real numbers.`,
  );
}

type ProductOptions<O extends OutDType> = ReduceOptions<Tensor<O>> & OutDTypeOption<O>;

/** How a real matrix is multiplied by the vectors of another: those of complex numbers number by number. */
const productOver =
  ({ field }: LazyFormula) =>
  (f: VectorExpr, g: VectorExpr): VectorExpr =>
    field === 'real' || f.dim === 1 ? ops.mul(f, g) : ops.complexMult(ops.real2Complex(f), g);

/** Whether data has one axis. */
function isVector(v: LazyData): boolean {
  if (isTensorLike(v)) return v.rank === 1;
  if (ArrayBuffer.isView(v)) return true;
  return Array.isArray(v) && v.length > 0 && typeof v[0] === 'number';
}
