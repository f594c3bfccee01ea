import type { Storage, Stream } from '../device.js';
import { MercerError } from '../mercer-error.js';

/** What cuBLASLt's fastest algorithms need. */
const WORKSPACE_BYTES = 32 * 2 ** 20;

/**
 * Memory for the library to work in; the caller disposes it once the product is enqueued. Undefined where there is no room:
 * then it chooses among the algorithms that need none.
 */
export function productWorkspace(stream: Stream): Storage | undefined {
  try {
    return stream.device.allocate(WORKSPACE_BYTES, { stream, purpose: 'workspace' });
  } catch (error) {
    if (error instanceof MercerError && error.code === 'OUT_OF_MEMORY') return undefined;
    throw error;
  }
}
