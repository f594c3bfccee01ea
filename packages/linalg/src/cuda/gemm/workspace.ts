import { MercerError, type Storage, type Stream } from '@mercer/tensor';

/** With less, cuBLASLt chooses among fewer algorithms. */
const WORKSPACE_BYTES = 32 * 2 ** 20;

/** Memory for the library to work in, where there is room; the caller disposes it once the product is enqueued. */
export function productWorkspace(stream: Stream): Storage | undefined {
  try {
    return stream.device.allocate(WORKSPACE_BYTES, { stream, purpose: 'workspace of a product' });
  } catch (error) {
    if (error instanceof MercerError && error.code === 'OUT_OF_MEMORY') return undefined;
    throw error;
  }
}
