import type { Storage, Stream } from '../device.js';
import { MercerError } from '../mercer-error.js';

/** What cuBLASLt's fastest algorithms need for a large result or a long sum, and for one of a single tile. */
const [MOST_BYTES, LEAST_BYTES] = [32 * 2 ** 20, 4 * 2 ** 20];

/** Parts of k whose sums lie beside each other before they are added up. */
const PARTS = 32;

/** Longer sums are cut into parts that take all of it: a product over 8192 terms is twice as quick with it (docs/lab/shampoo-step.md). */
const LONG_SUM = 512;

/** Bytes for a product: one of a few sizes, which follows from the product alone, as the choice of its algorithm does. */
const workspaceBytes = (resultBytes: number, terms: number): number =>
  terms > LONG_SUM
    ? MOST_BYTES
    : Math.min(MOST_BYTES, Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(PARTS * resultBytes))));

/**
 * Memory for the library to work in; the caller disposes it once the product is enqueued. Undefined where there is no room:
 * then it chooses among the algorithms that need none.
 *
 * @param resultBytes of all results of the product
 * @param terms that each number of a result is the sum of
 */
export function productWorkspace(
  stream: Stream,
  resultBytes: number,
  terms: number,
): Storage | undefined {
  try {
    const bytes = workspaceBytes(resultBytes, terms);
    return stream.device.allocate(bytes, { stream, purpose: 'workspace' });
  } catch (error) {
    if (error instanceof MercerError && error.code === 'OUT_OF_MEMORY') return undefined;
    throw error;
  }
}
