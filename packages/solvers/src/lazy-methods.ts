import { LazyTensor, type LazyDType } from '@mercer/lazy';
import { lazyOperator } from './operators/lazy-operator.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

declare module '@mercer/lazy' {
  interface LazyTensor<D extends LazyDType> {
    /**
     * This matrix, of dim 1 and tensors, as an operator of `@mercer/solvers`, which adds this method: its products are reductions.
     *
     * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT
     */
    asOperator(): LinearOperator<D & OperatorDType>;
  }
}

Object.defineProperty(LazyTensor.prototype, 'asOperator', {
  value: function asOperator(this: LazyTensor) {
    return lazyOperator(this);
  },
  writable: true,
  configurable: true,
});
