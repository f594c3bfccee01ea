import { failure } from '../fallback/failure.js';
import type { FallbackRequest } from '../fallback/messages.js';
import type { Watch } from '../fallback/worker-host.js';

/** In the place of fallback/worker-host.ts: WebAssembly stops the page while it computes, and so does ml-matrix. Programs that mind run in a worker. */
export async function askWorker(
  request: Omit<FallbackRequest, 'id'>,
  { signal, onProgress }: Watch,
): Promise<Readonly<Record<string, Float64Array>>> {
  signal?.throwIfAborted();
  // ml-matrix is large, and few pages need it.
  const { compute } = await import('../fallback/compute.js');
  try {
    return compute(request, (done) => onProgress?.({ done, total: request.count }));
  } catch (error) {
    throw failure(request.routine, error instanceof Error ? error.message : String(error));
  }
}
