import { ops, type VectorExpr } from '@mercer/formula';
import type { Pending, Tensor } from '@mercer/tensor';
import { readOptions } from './call-options.js';
import type { LazyDType } from './lazy-dtype.js';
import { checkOperand, LazyFormula } from './lazy-formula.js';
import { LazyTensor } from './lazy-tensor.js';
import type { LazyAxis, ReduceOptions } from './reduction-types.js';
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
    const complex =
      other instanceof ComplexLazyTensor
        ? other
        : combine(what, [checkOperand(`${what}: operand 1`, other, 'real')], ops.real2Complex);
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

  /** The sum of the numbers of a vector, still symbolic; or sums over a side, (..batch, rows, 2 n) in pairs. */
  sum(axis?: 'dim'): this;
  sum(axis: LazyAxis, options?: ReduceOptions<Tensor<D>>): Pending<Tensor<D>>;
  sum(
    axis: LazyAxis | 'dim' = 'dim',
    options?: ReduceOptions<Tensor<D>>,
  ): this | Pending<Tensor<D>> {
    if (axis !== 'dim') return this.pairs().sum(axis, options);
    readOptions<object>(`sum('dim')`, options, {});
    return this.derive('sum', combine('sum', [this], ops.complexSum));
  }
}

function made<D extends LazyDType>(
  what: string,
  x: LazyTensor<D>,
  build: (f: VectorExpr) => VectorExpr,
): ComplexLazyTensor<D> {
  return new ComplexLazyTensor<D>(what, combine(what, [x], build));
}

/** A real vector of pairs, real and imaginary part in turn, as complex numbers. */
export const complexOf = <D extends LazyDType>(pairs: LazyTensor<D>): ComplexLazyTensor<D> =>
  // The real part is asked for to check that the dim is even.
  made('complexOf', pairs, (f) => (ops.complexReal(f).dim > 0 ? f : f));

/** `x + 0 i` */
export const realToComplex = <D extends LazyDType>(x: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('realToComplex', x, ops.real2Complex);

/** `0 + x i` */
export const imagToComplex = <D extends LazyDType>(x: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('imagToComplex', x, ops.imag2Complex);

/** `e ^ (i x)` of a real vector. */
export const exp1j = <D extends LazyDType>(x: LazyTensor<D>): ComplexLazyTensor<D> =>
  made('exp1j', x, ops.complexExp1j);
