import type { OptionNames } from '@mercer/options';
import type { LoadOptions, Progress, StreamOption, Tensor, WorkOptions } from '@mercer/tensor';
import { LOAD_OPTIONS, WORK_OPTIONS } from '@mercer/tensor/operation';

/** What every operation takes: where it is enqueued, and who looks on. */
export interface RunOptions extends WorkOptions, LoadOptions {
  /**
   * Called after each matrix of a batch that a worker thread has computed or a GPU's library was given, and after each block of a
   * product of matrices in host memory. What is enqueued by one launch, as everything is that the CPU's own routines and its LAPACK
   * compute, resolves when it is enqueued and reports nothing.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Tensors that results are written to, by the names of the results; what is left out is made. */
export type ResultTargets<R> = { readonly [N in keyof R]?: R[N] | undefined };

/** Options of a preparation: those with which a call would wait for the device are of ordinary calls alone. */
export type RoutinePrepareOptions<O> = Omit<
  O,
  'checkErrors' | 'onProgress' | 'onJitter' | 'jitter'
>;

/** Options that a prepared call takes anew. */
export interface PreparedCallOptions<Out> extends StreamOption {
  readonly out?: Out | undefined;
}

/** A prepared call: the arguments are those of the call, `out` as well. What waits for a library gives a promise of R. */
export type PreparedRoutine<A extends readonly unknown[], R, Out = ResultTargets<Awaited<R>>> = (
  ...args: readonly [...A, options?: PreparedCallOptions<Out>]
) => R;

/** Names of {@link RunOptions}. */
export const RUN_OPTIONS: OptionNames<RunOptions> = {
  ...WORK_OPTIONS,
  ...LOAD_OPTIONS,
  onProgress: true,
};

/** Where the parts of an operation are enqueued, and what ends them early. */
export function workOf({ stream, signal }: WorkOptions): WorkOptions {
  return { stream, signal };
}

/** Options of operations whose matrices may have no result. */
export interface CallOptions extends RunOptions {
  /**
   * Wait for the device and throw for the first matrix without a result. Without it nothing waits: the infos on the
   * device tell, and results of such matrices are NaN.
   */
  readonly checkErrors?: boolean | undefined;
}

export const CALL_OPTIONS: OptionNames<CallOptions> = { ...RUN_OPTIONS, checkErrors: true };

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

/** Which gradients are wanted. */
export interface WrtOption<W extends readonly string[] = readonly string[]> {
  /** Names of inputs; default: all. What is not wanted is not computed. */
  readonly wrt?: W | undefined;
}

/** On the device, int32, one for each batch entry. */
export interface Infos {
  /** 0: success. Positive: what LAPACK reports, see the operation. -1: the matrix holds NaN or infinity. */
  readonly infos: Tensor<'int32'>;
}
