/** How a GPU cuts the rows. */
export interface CudaTile {
  /** Kept rows of a thread. */
  readonly rowsPerThread: 1 | 2 | 4;
  /** Threads of a block. */
  readonly threads: number;
  /** Threads that share a kept row: each sees a slice of the reduced rows of the block. */
  readonly slices: number;
  /** Reduced rows of a slice in shared memory, and between two merges. */
  readonly tile: number;
  /** Whether values of pairs go through shared memory, where inputs have any. */
  readonly pairs?: 'staged' | 'direct' | undefined;
  /** Reduced rows whose work is written out together. */
  readonly unroll: number;
  /** Reduced rows that are added at a time, where that costs less. */
  readonly unrolledRows: number;
  /** Parts of the reduced rows, each of other blocks; above 1 a second step merges them. */
  readonly splits: number;
  /** Blocks of a multiprocessor at a time that registers are to leave room for. */
  readonly resident: number;
}
