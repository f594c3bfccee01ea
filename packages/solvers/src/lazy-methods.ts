import { LazyTensor, type LazyDType } from '@mercer/lazy';
import type { Pending, Tensor, TensorOperand } from '@mercer/tensor';
import { attachTo } from '@mercer/tensor/operation';
import { lazyOperator, type LazyOperatorOptions } from './operators/lazy-operator.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';
import { promised } from './promised.js';
import { solveShifted, type SolveSystemOptions } from './solve.js';

/** What this package adds to symbolic matrices. */
interface SolverMethods<D extends LazyDType> {
  /**
   * This matrix, of dim 1 and tensors, as an operator: its products are reductions. `@mercer/solvers` adds this method.
   * With `devices` or `maxBytes` they are cut into blocks, as reductions are by these options: the matrix may be made of arrays of the host and of tensors there
   * or on any of the devices, and vectors and products are on the first. With `ranges`, such as `truncatedRanges` makes, the other pairs of the matrix are 0; ranges of
   * one direction have no transpose, and so no rows, which are its products with unit vectors.
   * `accumulate: 'float64'` and `sumScheme` lower the rounding of products of float32, which is the least residual that a solve can reach.
   *
   * ```ts
   * import { lazyI, lazyJ, truncatedRanges } from '@mercer/lazy';
   * import { cg } from '@mercer/solvers';
   * import { full, random } from '@mercer/tensor';
   *
   * const x = await random.uniform([500, 2], { key: random.key(1), device: 'cpu' });
   * using near = await truncatedRanges(x, x, { kernel: 'gaussian', bandwidth: 0.02, error: 1e-6 });
   * const kernel = lazyI(near.x).sqdist(lazyJ(near.y)).mul(-1 / (2 * 0.02 ** 2)).exp();
   * const a = kernel.asOperator({ ranges: near.ranges }).shift(1);
   * const b = await near.sortJ(await full([500], 1, { device: 'cpu' }));
   * const { x: found, converged } = await cg(a, b);
   * console.log((await near.restore(found)).shape, converged); // [ 500 ] true
   * ```
   *
   * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT
   */
  asOperator(options?: LazyOperatorOptions): LinearOperator<D & OperatorDType>;
  /**
   * The solution x of `(this + alpha I) x = b`, of a symmetric positive definite matrix, by conjugate gradients: see `cg` of `@mercer/solvers`, which
   * adds this method. x is differentiated by b, by the tensors of the matrix and by alpha. It resolves when the solve has ended. Its options are those of `cg` and of
   * `asOperator`; with `devices` b may lie elsewhere, and x is on the first.
   *
   * @param b (N) or (N, K)
   * @throws NotConvergedError NOT_CONVERGED with the solution that was reached, and as `cg`
   */
  solve(
    b: TensorOperand<D & OperatorDType>,
    options?: SolveSystemOptions<D & OperatorDType>,
  ): Pending<Tensor<D & OperatorDType>>;
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
    const tensors = this.inputs.map(({ source }) => source.kind === 'tensor' && source.tensor);
    return promised([b, ...tensors], () =>
      solveShifted('solve', (products) => lazyOperator(this, products), b, options),
    );
  },
} satisfies Record<keyof SolverMethods<LazyDType>, unknown>);
