import type { LapackRoutineName } from '../routines.js';

/** A matrix of every batch entry, row-major, one after the other. */
export interface PackedMatrices {
  readonly rows: number;
  readonly columns: number;
  /** Absent for what the routine writes only. */
  readonly values?: Float64Array;
}

/** What the worker is asked to compute. */
export interface FallbackRequest {
  readonly id: number;
  readonly routine: LapackRoutineName;
  readonly count: number;
  readonly matrices: Readonly<Record<string, PackedMatrices>>;
  readonly numbers: Readonly<Record<string, number>>;
  /** Names of the results with one number for each batch entry. */
  readonly vectors: readonly string[];
}

/** What it answers: how many batch entries are done, then values of matrices and vectors by name, or why there are none. */
export interface FallbackResponse {
  readonly id: number;
  readonly done?: number;
  readonly results?: Readonly<Record<string, Float64Array>>;
  readonly error?: string;
}
