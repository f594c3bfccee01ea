/** How squared distances come from inner products on tensor cores, in two phases. */
export interface ProductsConfig {
  /** Steps of k that the tensor cores add up before the sum goes to float32. */
  readonly chunk: number;
  /** How many of them. */
  readonly chunks: number;
  /** Pairs whose squared distance is at most so much of the sum of their squared norms are computed again by differences. */
  readonly closeness: number;
}

/** Floats of the parts of one row. */
export const partsLength = ({ chunk, chunks }: ProductsConfig): number => 3 * chunk * chunks;
