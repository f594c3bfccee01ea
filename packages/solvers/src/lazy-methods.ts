import { LazyTensor, type LazyDType } from '@mercer/lazy';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import { attachTo } from '@mercer/tensor/operation';
import { lazyOperator, type LazyOperatorOptions } from './operators/lazy-operator.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';
import { solveShifted, type SolveSystemOptions } from './solve.js';

/** What this package adds to symbolic matrices. */
interface SolverMethods<D extends LazyDType> {
  /**
   * This matrix, of dim 1 and tensors, as an operator: its products are reductions. `@mercer/solvers` adds this method.
   * With `devices` or `maxBytes` they are cut into blocks, as reductions are by these options; the tensors and vectors are on the first device.
   * `accumulate: 'float64'` and `sumScheme` lower the rounding of products of float32, which is the least residual that a solve can reach.
   *
   * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT
   */
  asOperator(options?: LazyOperatorOptions): LinearOperator<D & OperatorDType>;
  /**
   * The solution x of `(this + alpha I) x = b`, of a symmetric positive definite matrix, by conjugate gradients: see `cg` of `@mercer/solvers`, which
   * adds this method. x is differentiated by b, by the tensors of the matrix and by alpha. It resolves when the solve has ended.
   *
   * @param b (N) or (N, K)
   * @throws NotConvergedError NOT_CONVERGED with the solution that was reached, and as `cg`
   */
  solve(
    b: TensorOperand<D & OperatorDType>,
    options?: SolveSystemOptions<D & OperatorDType>,
  ): Promise<Tensor<D & OperatorDType>>;
}

declare module '@mercer/lazy' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- its members stand in SolverMethods
  interface LazyTensor<D extends LazyDType> extends SolverMethods<D> {}
}

attachTo(LazyTensor.prototype, {
  asOperator(this: LazyTensor, options?: LazyOperatorOptions) {
    return lazyOperator(this, options);
  },
  solve(this: LazyTensor, b: TensorOperand<OperatorDType>, options?: SolveSystemOptions) {
    return solveShifted('solve', () => lazyOperator(this), b, options);
  },
} satisfies Record<keyof SolverMethods<LazyDType>, unknown>);
