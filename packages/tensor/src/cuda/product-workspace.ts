import type { Storage, Stream } from '../device.js';
import { MercerError } from '../mercer-error.js';

/** What cuBLASLt's fastest algorithms need for a large result, and for one of a single tile. */
const [MOST_BYTES, LEAST_BYTES] = [32 * 2 ** 20, 4 * 2 ** 20];

/** Parts of k whose sums lie beside each other before they are added up. */
const PARTS = 32;

/** Bytes for a result of so many bytes: one of a few sizes, which follows from the product alone, as the choice of its algorithm does. */
const workspaceBytes = (resultBytes: number): number =>
  Math.min(MOST_BYTES, Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(PARTS * resultBytes))));

/**
 * Memory for the library to work in; the caller disposes it once the product is enqueued. Undefined where there is no room:
 * then it chooses among the algorithms that need none.
 *
 * @param resultBytes of all results of the product
 */
export function productWorkspace(stream: Stream, resultBytes: number): Storage | undefined {
  try {
    const bytes = workspaceBytes(resultBytes);
    return stream.device.allocate(bytes, { stream, purpose: 'workspace' });
  } catch (error) {
    if (error instanceof MercerError && error.code === 'OUT_OF_MEMORY') return undefined;
    throw error;
  }
}
