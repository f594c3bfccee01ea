import { parentPort } from 'node:worker_threads';
import { compute } from './compute.js';
import type { FallbackRequest, FallbackResponse } from './messages.js';

/*
 * The worker thread: takes requests, computes, answers.
 */

parentPort?.on('message', (request: FallbackRequest) => {
  parentPort?.postMessage(answer(request));
});

function answer(request: FallbackRequest): FallbackResponse {
  const { id } = request;
  try {
    const results = compute(request, (done) => {
      parentPort?.postMessage({ id, done } satisfies FallbackResponse);
    });
    return { id, results };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}
