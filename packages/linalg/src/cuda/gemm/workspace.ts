import type { Storage, Stream } from '@mercer/tensor';

/** With less, cuBLASLt chooses among fewer algorithms. */
const WORKSPACE_BYTES = 32 * 2 ** 20;

/** Memory for the library to work in; the caller disposes it once the product is enqueued. */
export function productWorkspace(stream: Stream): Storage {
  return stream.device.allocate(WORKSPACE_BYTES, { stream, purpose: 'workspace of a product' });
}
