/** How a CPU cuts the rows. */
export interface CpuTile {
  /** Vectors of kept rows of a task. */
  readonly keptVectors: number;
  /** Reduced rows between two merges, and that stay in the cache for all vectors. */
  readonly tile: number;
  /** Parts of the reduced rows, each of another task; above 1 a second step merges them. */
  readonly splits: number;
  /** The kernel is a program alone, without text for a compiler. */
  readonly interpreted?: true | undefined;
}
