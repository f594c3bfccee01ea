import { ops, type VectorExpr } from '@mercer/formula';
import { describeList } from '@mercer/options';
import { isPending, type Pending, type Tensor } from '@mercer/tensor';
import { readOptions } from './call-options.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { checkOperand, LazyFormula } from './lazy-formula.js';
import type { LazyReduction } from './lazy-reduction.js';
import { describeReduction, reduce, reduced } from './lazy-reductions.js';
import { LazyTensor } from './lazy-tensor.js';
import { nodeAt } from './input.js';
import { matrixInput, type LazyData } from './make-input.js';
import { onceThere } from './once-there.js';
import { pendingReduction } from './reductions.js';
import type { LazyAxis, OutDType, OutDTypeOption, ReduceOptions } from './reduction-types.js';
import { combine, type Symbolic } from './symbolic.js';

/** What complex operations take: a complex matrix, or a real one or a number, which counts as its real part. */
export type ComplexOperand = ComplexLazyTensor | LazyTensor | number;

/**
 * A symbolic matrix of complex vectors: n numbers are 2 n components, real and imaginary part in turn, in formulas and in
 * results. One complex number is repeated where it meets several.
 *
 * @example
 * ```ts
 * import { complexOf, lazyI, lazyJ } from '@mercer/lazy';
 *
 * // sum_j z w_j, with z = 1 + 2i and w = 3i, 1.
 * const products = complexOf(lazyI([[1, 2]])).mul(complexOf(lazyJ([[0, 3], [1, 0]])));
 * const sums = await products.sum('j', { device: 'cpu' });
 * console.log(await sums.toNested()); // [ [ -5, 5 ] ]
 * ```
 */
export class ComplexLazyTensor<D extends LazyDType = LazyDType> extends LazyFormula<D> {
  readonly field = 'complex';

  protected override derive(what: string, of: Symbolic): this {
    return new ComplexLazyTensor<D>(what, of, this) as this;
  }

  /** How many complex numbers a vector has. */
  get complexDim(): number {
    return this.dim / 2;
  }

  #binary(
    what: string,
    other: ComplexOperand,
    build: (f: VectorExpr, g: VectorExpr) => VectorExpr,
  ): this {
    const complex = complexOperand(`${what}: operand 1`, what, other);
    return this.derive(what, combine(what, [this, complex], build));
  }

  #real(what: string, build: (f: VectorExpr) => VectorExpr): LazyTensor<D> {
    return new LazyTensor<D>(what, combine(what, [this], build));
  }

  /** `z + w` */
  add(other: ComplexOperand): this {
    return this.#binary('add', other, ops.complexAdd);
  }

  /** `z - w` */
  sub(other: ComplexOperand): this {
    return this.#binary('sub', other, ops.complexSubtract);
  }

  /** `z w`, number by number. */
  mul(other: ComplexOperand): this {
    return this.#binary('mul', other, ops.complexMult);
  }

  /** `z / w`, number by number. */
  div(other: ComplexOperand): this {
    return this.#binary('div', other, ops.complexDivide);
  }

  /** `-z` */
  neg(): this {
    return this.derive('neg', combine('neg', [this], ops.neg));
  }

  /** The complex conjugate. */
  conj(): this {
    return this.derive('conj', combine('conj', [this], ops.conj));
  }

  /** `e ^ z` */
  exp(): this {
    return this.derive('exp', combine('exp', [this], ops.complexExp));
  }

  /** The real parts. */
  real(): LazyTensor<D> {
    return this.#real('real', ops.complexReal);
  }

  /** The imaginary parts. */
  imag(): LazyTensor<D> {
    return this.#real('imag', ops.complexImag);
  }

  /** The moduli, with gradient 0 at 0. */
  abs(): LazyTensor<D> {
    return this.#real('abs', ops.complexAbs);
  }

  /** The squared moduli. */
  squareAbs(): LazyTensor<D> {
    return this.#real('squareAbs', ops.complexSquareAbs);
  }

  /** The angles, in (-pi, pi]. */
  angle(): LazyTensor<D> {
    return this.#real('angle', ops.complexAngle);
  }

  /** Real and imaginary parts in turn, as a real vector. */
  pairs(): LazyTensor<D> {
    return this.#real('pairs', (f) => f);
  }

  /** The complex number at place k of each vector. @throws LazyError INVALID_ARGUMENT */
  elem(k: number): this {
    return this.#part('elem', k, 1);
  }

  /** `length` complex numbers from number `start`. @throws LazyError INVALID_ARGUMENT */
  extract(start: number, length: number): this {
    return this.#part('extract', start, length);
  }

  #part(what: string, start: number, length: number): this {
    const [first, count]: readonly unknown[] = [start, length];
    const isPart = Number.isSafeInteger(first) && Number.isSafeInteger(count);
    if (!isPart || start < 0 || length < 1 || start + length > this.complexDim) {
      const wanted =
        what === 'elem'
          ? `number ${describeList(first)}`
          : `${describeList(count)} numbers from ${describeList(first)}`;
      throw new LazyError(
        'INVALID_ARGUMENT',
        `${what}: ${wanted} asked for, and vectors have ${this.complexDim} complex numbers, counted from 0. Pass whole numbers within them.`,
      );
    }
    return this.derive(
      what,
      combine(what, [this], (f) => ops.extract(f, 2 * start, 2 * length)),
    );
  }

  /** The numbers of this, then those of the others. */
  concat(...others: readonly ComplexOperand[]): this {
    const parts = others.map((one, at) =>
      complexOperand(`concat: operand ${at + 1}`, 'concat', one),
    );
    return this.derive('concat', combine('concat', [this, ...parts], ops.concat));
  }

  /** The sum of the numbers of a vector, still symbolic; or sums over a side, (..batch, rows, 2 n) in pairs. */
  sum(axis?: 'dim'): this;
  sum<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>>;
  sum<O extends OutDType = D>(
    axis: LazyAxis | 'dim' = 'dim',
    options?: ReduceOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): this | Pending<Tensor<O>> {
    if (axis !== 'dim') return reduce<'Sum', O, 'int32'>('sum', this, 'Sum', axis, options);
    readOptions<object>(`sum('dim')`, options, {});
    return this.derive('sum', combine('sum', [this], ops.complexSum));
  }

  /** The means over a side, (..batch, rows, 2 n) in pairs; empty: NaN. */
  mean<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>> {
    return reduce<'Mean', O, 'int32'>('mean', this, 'Mean', axis, options);
  }

  /**
   * A sum or mean to be called later, prepared or differentiated: results, cotangents and gradients are in pairs. What has an order, such
   * as Min, is a reduction of `abs()`, `real()` or `imag()`.
   *
   * @throws LazyError for another kind, and for an axis that is not 'i' or 'j'
   *
   * @example
   * ```ts
   * import { exp1j, lazyI, lazyJ } from '@mercer/lazy';
   * import { tensor } from '@mercer/tensor';
   *
   * const waves = exp1j(lazyI({ position: 0, dim: 1 }).mul(lazyJ({ position: 1, dim: 1 })));
   * const sums = waves.reduction('Sum', 'j');
   * const [x, y] = [await tensor([[0]], { device: 'cpu' }), await tensor([[1], [2]], { device: 'cpu' })];
   * const prepared = await sums.prepare([x, y]);
   * console.log(await prepared([x, y]).toNested()); // [ [ 2, 0 ] ]
   * ```
   */
  reduction<K extends 'Sum' | 'Mean'>(kind: K, axis: LazyAxis): LazyReduction<K, D> {
    if (!['Sum', 'Mean'].includes(kind)) {
      throw new LazyError(
        'INVALID_ARGUMENT',
        `reduction: the kind is ${describeList(kind)}, and complex numbers have Sum and Mean. Take abs(), real(), imag() or pairs() for the others.`,
      );
    }
    return describeReduction(kind, this, kind, axis, {});
  }

  /**
   * The matrix times complex vectors: `sum_j this(i, j) v_j`, (..batch, M, 2 E) for v (..batch, N, 2 E), both in pairs. This has one
   * complex number, or as many as v. `lazyJ(v)` instead of data counts as real numbers.
   *
   * @throws LazyError DIM_MISMATCH for an odd number of components; MercerError as `sum`
   *
   * @example
   * ```ts
   * import { exp1j, lazyI, lazyJ } from '@mercer/lazy';
   *
   * // A discrete Fourier transform of 1, i at frequencies 0 and pi.
   * const waves = exp1j(lazyI([[0], [Math.PI]]).mul(lazyJ([[0], [1]])));
   * const values = await waves.matmul([[1, 0], [0, 1]], { device: 'cpu', dtype: 'float64' });
   * console.log((await values.toTypedArray()).map(Math.round).join(' ')); // 1 1 1 -1
   * ```
   */
  matmul<O extends OutDType = D>(
    v: LazyData | Pending<Tensor> | LazyTensor | ComplexLazyTensor,
    options?: ReduceOptions<Tensor<NoInfer<O>>> & OutDTypeOption<O>,
  ): Pending<Tensor<O>> {
    if (isPending(v)) return onceThere(v, this, options, (there) => this.matmul(there, options));
    const isSymbolic = v instanceof LazyTensor || v instanceof ComplexLazyTensor;
    const inputs = isSymbolic ? [...this.inputs, ...v.inputs] : this.inputs;
    return pendingReduction(inputs, [v], options, (): Tensor<O> | Promise<Tensor<O>> => {
      const vector = isSymbolic ? complexOperand('matmul: v', 'matmul', v) : pairsOf(v);
      const product = combine('matmul', [this, vector], ops.complexMult);
      return reduced<'Sum', O, 'int32'>('matmul', product, 'Sum', 'j', options);
    });
  }
}

/** Rows of pairs as complex numbers. @throws LazyError DIM_MISMATCH */
function pairsOf(v: LazyData): Symbolic {
  const input = matrixInput('matmul', v, 'j', 'v');
  return combine('matmul', [{ formula: nodeAt(input, 0), inputs: [input] }], asPairs);
}

/** A vector itself. @throws FormulaError where its dim is not even, as of its real part */
function asPairs(f: VectorExpr): VectorExpr {
  ops.complexReal(f);
  return f;
}

/** An operand as complex numbers. @throws LazyError INVALID_ARGUMENT */
function complexOperand(place: string, what: string, other: ComplexOperand): Symbolic {
  if (other instanceof ComplexLazyTensor) return other;
  return combine(what, [checkOperand(place, other, 'real')], ops.real2Complex);
}

function made<D extends LazyDType>(
  what: string,
  x: LazyTensor<D>,
  build: (f: VectorExpr) => VectorExpr,
): ComplexLazyTensor<D> {
  return new ComplexLazyTensor<D>(
    what,
    combine(what, [checkOperand(`${what}: x`, x, 'real')], build),
  );
}

/** A real vector of pairs, real and imaginary part in turn, as complex numbers. */
export const complexOf = <D extends LazyDType>(pairs: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('complexOf', pairs, asPairs);

/** `x + 0 i` */
export const realToComplex = <D extends LazyDType>(x: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('realToComplex', x, ops.real2Complex);

/** `0 + x i` */
export const imagToComplex = <D extends LazyDType>(x: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('imagToComplex', x, ops.imag2Complex);

/** `e ^ (i x)` of a real vector. */
export const exp1j = <D extends LazyDType>(x: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('exp1j', x, ops.complexExp1j);
