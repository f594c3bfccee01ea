import type { StreamOption, Tensor } from '@mercer/tensor';

/** Options of every operation. */
export interface CallOptions extends StreamOption {
  /**
   * Wait for the device and throw for the first matrix without a result. Without it nothing waits: the infos on the
   * device tell, and results of such matrices are NaN.
   */
  readonly checkErrors?: boolean | undefined;
}

/** Which triangle of a symmetric matrix is read; the other is not looked at. */
export interface TriangleOption {
  /** Default 'lower'. */
  readonly uplo?: 'lower' | 'upper' | undefined;
}

/** How a square matrix is factored. */
export interface FactorOption extends TriangleOption {
  /** 'lu' (default) for any square matrix, 'cholesky' for symmetric positive definite ones: half of the work. */
  readonly method?: 'lu' | 'cholesky' | undefined;
}

/** How right-hand sides lie in b and solutions in x. */
export interface RightHandSidesOption {
  /** 'columns' (default): b and x are (..., n, c). 'rows': (..., c, n), as Kermac has them. */
  readonly rightHandSides?: 'columns' | 'rows' | undefined;
}

/** On the device, int32, one for each batch entry. */
export interface Infos {
  /** 0: success. Positive: what LAPACK reports, see the operation. -1: the matrix holds NaN or infinity. */
  readonly infos: Tensor<'int32'>;
}
