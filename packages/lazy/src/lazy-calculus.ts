import {
  diff,
  divergence,
  grad,
  gradMatrix,
  laplacian,
  traceOperator,
  type VectorExpr,
} from '@mercer/formula';
import { describeValue } from '@mercer/options';
import { LazyError } from './lazy-error.js';
import type { LazyFormula, LazyOperand } from './lazy-formula.js';
import { LazyVectors } from './lazy-vectors.js';
import type { LazyDType } from './lazy-dtype.js';

/** Derivatives of the formula itself, as formulas, to any order. */
export abstract class LazyCalculus<D extends LazyDType = LazyDType> extends LazyVectors<D> {
  /**
   * The gradient by a variable, applied to `seed`: the transposed derivative times the seed, of the dim of the variable. The
   * seed has the dim of this, or 1 and is repeated.
   *
   * @throws LazyError where `variable` is no input by itself
   */
  grad(variable: LazyFormula, seed: LazyOperand = 1): this {
    checkVariable('grad', variable);
    return this.apply('grad', [variable, seed], (f, v, e) => grad(f, v, e));
  }

  /** The derivative in a direction of a variable: of the dim of this. */
  diff(variable: LazyFormula, direction: LazyOperand): this {
    checkVariable('diff', variable);
    return this.apply('diff', [variable, direction], (f, v, u) => diff(f, v, u));
  }

  /** All gradients by a variable: dim of this times dim of the variable, block k that of component k. */
  gradMatrix(variable: LazyFormula): this {
    return this.#by('gradMatrix', variable, gradMatrix);
  }

  /** The sum over k of the derivative of component k by component k of the variable. */
  divergence(variable: LazyFormula): this {
    return this.#by('divergence', variable, divergence);
  }

  /** The sum of the second derivatives by each component of the variable, of a formula of dim 1. */
  laplacian(variable: LazyFormula): this {
    return this.#by('laplacian', variable, laplacian);
  }

  /**
   * The trace of the matrix of a formula that is linear in a variable, `sum_k w_k M_kk`; a formula of dim 1 counts as repeated.
   * The weights have the dim of the variable, or 1.
   */
  traceOperator(variable: LazyFormula, weights: LazyOperand = 1): this {
    checkVariable('traceOperator', variable);
    return this.apply('traceOperator', [variable, weights], (f, v, w) => traceOperator(f, v, w));
  }

  #by(
    what: string,
    variable: LazyFormula,
    build: (f: VectorExpr, v: VectorExpr) => VectorExpr,
  ): this {
    checkVariable(what, variable);
    return this.binary(what, variable, build);
  }
}

/** @throws LazyError NOT_DIFFERENTIABLE */
export function checkVariable(what: string, variable: LazyFormula): void {
  const given: unknown = variable;
  if (typeof given === 'object' && given !== null && 'formula' in given) {
    if (variable.formula.kind === 'variable') return;
    throw new LazyError(
      'NOT_DIFFERENTIABLE',
      `${what}: ${String(variable)} is no variable but a formula. Differentiate by what lazyI, lazyJ or param made.`,
    );
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the variable is ${describeValue(given)}. Pass what lazyI, lazyJ or param made.`,
  );
}
