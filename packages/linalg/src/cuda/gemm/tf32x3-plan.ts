/** How a product of split operands walks along k. */
export interface SplitPlan {
  /** Steps of k that the tensor cores add up before the sum goes to float32. */
  readonly chunk: number;
  /** Steps of k that are split at a time; a multiple of the chunk, or all of them. */
  readonly block: number;
}

const LEAST_CHUNK = 256;
/** Blocks of more chunks would let the sums of lo hi + hi lo, which are not cut, err as much as a chunk of hi hi. */
const MOST_CHUNKS = 512;

/**
 * Sums inside tensor cores are truncated instead of rounded (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA
 * tensor cores, PeerJ Computer Science 7:e330, 2021), so that an error of up to 2 u a term, u = 2^-24, always has the same
 * sign. With chunks of L steps, added up in float32 at a cost of u each, the bound is (2 L + k / L) u and more; L = sqrt(k / 2)
 * makes it least. Each chunk also reads and writes the whole result, which a chunk below 256 steps would not hide: 256 it is, up
 * to k = 2^17.
 */
export function chunkOf(k: number): number {
  return Math.max(LEAST_CHUNK, Math.ceil(Math.sqrt(k / 2) / LEAST_CHUNK) * LEAST_CHUNK);
}

/**
 * @param bytesPerStep of the split operands, for each step of k
 * @param budgetBytes for all of them; a chunk is split at a time even where it is larger
 * @param chunk of a longer sum that this one is a part of
 */
export function planSplit(
  k: number,
  bytesPerStep: number,
  budgetBytes: number,
  chunk = chunkOf(k),
): SplitPlan {
  const chunks = Math.floor(budgetBytes / (chunk * bytesPerStep));
  const block = chunk * Math.min(MOST_CHUNKS, Math.max(1, chunks));
  return { chunk, block: Math.min(k, block) };
}
