import type { OptionNames } from '@mercer/options';
import { STREAM_OPTION, type StreamOption, type Tensor } from '@mercer/tensor';

/** Options of every operation. */
export interface CallOptions extends StreamOption {
  /**
   * Wait for the device and throw for the first matrix without a result. Without it nothing waits: the infos on the
   * device tell, and results of such matrices are NaN.
   */
  readonly checkErrors?: boolean | undefined;
}

export const CALL_OPTIONS: OptionNames<CallOptions> = { ...STREAM_OPTION, checkErrors: true };

/** Options of what LAPACK computes by iterations, and a worker thread where there is none: minutes for large matrices. */
export interface SpectralOptions extends CallOptions {
  /**
   * Rejects the call with the signal's reason. A worker thread stops at once; what a LAPACK or a GPU was given already runs to its
   * end, and no result is handed out.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called after each matrix of the batch that a worker thread has computed. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
}

export const SPECTRAL_OPTIONS: OptionNames<SpectralOptions> = {
  ...CALL_OPTIONS,
  signal: true,
  onProgress: true,
};

/** Which triangle of a symmetric matrix is read; the other is not looked at. */
export interface TriangleOption {
  /** Default 'lower'. */
  readonly uplo?: 'lower' | 'upper' | undefined;
}

export const TRIANGLE_OPTION: OptionNames<TriangleOption> = { uplo: true };

/** How a square matrix is factored. */
export interface FactorOption extends TriangleOption {
  /** 'lu' (default) for any square matrix, 'cholesky' for symmetric positive definite ones: half of the work. */
  readonly method?: 'lu' | 'cholesky' | undefined;
}

export const FACTOR_OPTION: OptionNames<FactorOption> = { ...TRIANGLE_OPTION, method: true };

/** How right-hand sides lie in b and solutions in x. */
export interface RightHandSidesOption {
  /** 'columns' (default): b and x are (..., n, c). 'rows': (..., c, n), as Kermac has them. */
  readonly rightHandSides?: 'columns' | 'rows' | undefined;
}

export const SIDES_OPTION: OptionNames<RightHandSidesOption> = { rightHandSides: true };

/** On the device, int32, one for each batch entry. */
export interface Infos {
  /** 0: success. Positive: what LAPACK reports, see the operation. -1: the matrix holds NaN or infinity. */
  readonly infos: Tensor<'int32'>;
}
