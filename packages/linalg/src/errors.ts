import { MercerError } from '@mercer/options';

/** Which of the things that a factorisation can find wrong with a matrix. */
export type LinalgErrorCode =
  'NOT_POSITIVE_DEFINITE' | 'SINGULAR' | 'NOT_FINITE' | 'NO_CONVERGENCE';

/**
 * A matrix that has no such factor or solution, thrown where `checkErrors` asks for it. Without it the infos say the same
 * and the results of that batch entry are NaN.
 */
export class LinalgError extends MercerError {
  declare readonly code: LinalgErrorCode;
  /** Indices of the matrix along the batch axes; empty where there is one matrix. */
  readonly batch: readonly number[];

  constructor(code: LinalgErrorCode, message: string, batch: readonly number[]) {
    super(code, message);
    this.batch = batch;
  }
}

/** `leadingMinor` is the order of the first leading principal minor that is not positive. */
export class NotPositiveDefiniteError extends LinalgError {
  readonly leadingMinor: number;

  constructor(what: string, batch: readonly number[], leadingMinor: number) {
    super(
      'NOT_POSITIVE_DEFINITE',
      `${what}: ${matrixAt(batch)} is not positive definite: its leading minor of order ${leadingMinor} is not positive. ` +
        "Add a multiple of the identity, call cholesky with jitter: 'escalate', or use solveLU where it is only symmetric.",
      batch,
    );
    this.leadingMinor = leadingMinor;
  }
}

/** `eigenvalues` says how many eigenvalues have no such power. */
export class NotSemidefiniteError extends LinalgError {
  readonly eigenvalues: number;

  constructor(what: string, batch: readonly number[], eigenvalues: number) {
    super(
      'NOT_POSITIVE_DEFINITE',
      `${what}: ${matrixAt(batch)} has ${eigenvalues} eigenvalues that are negative, or 0 and raised to a negative power. ` +
        'Add a multiple of the identity with eps.',
      batch,
    );
    this.eigenvalues = eigenvalues;
  }
}

/** `pivot` is the one-based position of the first pivot that is exactly 0, of the factors that the operation computed. */
export class SingularMatrixError extends LinalgError {
  readonly pivot: number;

  constructor(what: string, batch: readonly number[], pivot: number) {
    super(
      'SINGULAR',
      `${what}: ${matrixAt(batch)} is singular: pivot ${pivot} is exactly 0. ` +
        'Use lstsq for the solution of least norm, or add a multiple of the identity.',
      batch,
    );
    this.pivot = pivot;
  }
}

/** A matrix holds NaN or infinity. */
export class NotFiniteError extends LinalgError {
  constructor(what: string, batch: readonly number[]) {
    super(
      'NOT_FINITE',
      `${what}: ${matrixAt(batch)} holds NaN or infinity. Look for the operation that made it; only finite matrices have factors.`,
      batch,
    );
  }
}

/** An iteration did not converge; `info` is what it reported. */
export class NoConvergenceError extends LinalgError {
  readonly info: number;

  constructor(what: string, batch: readonly number[], info: number) {
    super(
      'NO_CONVERGENCE',
      `${what}: ${matrixAt(batch)} did not converge (info ${info}). Scale it, or compute it in float64.`,
      batch,
    );
    this.info = info;
  }
}

function matrixAt(batch: readonly number[]): string {
  return batch.length === 0 ? 'the matrix' : `the matrix of batch entry [${batch.join(', ')}]`;
}
