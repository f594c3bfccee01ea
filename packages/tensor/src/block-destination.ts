import type { DType } from '@mercer/kernels';
import type { SignalOption } from './device.js';
import type { StridedSource } from './host-array.js';

/**
 * Where a result goes block by block that may not fit into memory: a file, or whatever else takes blocks. `npyOutput` of `@mercer/tensor/npy`
 * makes one.
 */
export interface BlockDestination {
  /** Called once, when the shape of the result is known and before the first block. */
  readonly open: (
    array: { readonly shape: readonly number[]; readonly dtype: DType },
    options?: SignalOption,
  ) => Promise<BlockWriter>;
}

/** A result on its way to a {@link BlockDestination}. */
export interface BlockWriter {
  /** Takes a block of row-major elements whose first one stands at `start`. Blocks come in any order, several at a time, and no element twice. */
  readonly write: (
    start: readonly number[],
    block: StridedSource,
    options?: SignalOption,
  ) => Promise<void>;
  /** All blocks were written. */
  readonly finish: () => Promise<void>;
  /** The call has ended early: what was there before is to stay. */
  readonly abandon: () => Promise<void>;
}
