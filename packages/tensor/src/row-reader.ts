import type { SignalOption } from './device.js';
import type { DType } from '@mercer/kernels';
import type { StridedSource } from './host-array.js';

/**
 * Rows that are read as they are needed, of a file or of whatever else gives them: what reductions take in the place of a tensor that does
 * not fit into memory. `openNpy` of `@mercer/tensor/npy` gives one.
 */
export interface RowReader {
  /** Axis 0 are the rows. */
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Rows `first` to `first + count`, row-major, in memory that is the caller's. */
  readonly readRows: (
    first: number,
    count: number,
    options?: SignalOption,
  ) => Promise<StridedSource>;
}
