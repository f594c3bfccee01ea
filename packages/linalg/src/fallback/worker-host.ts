import { Worker } from 'node:worker_threads';
import type { FallbackRequest, FallbackResponse } from './messages.js';

type Results = Readonly<Record<string, Float64Array>>;

interface Waiting {
  readonly resolve: (results: Results) => void;
  readonly reject: (error: Error) => void;
}

let worker: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

/** One worker for the program, started at the first call; it keeps no process alive once it has answered. */
function start(): Worker {
  // Named from the package's root, so that the sources under test find the compiled worker too.
  const made = new Worker(new URL('../../dist/fallback/worker.js', import.meta.url));
  made.on('message', ({ id, results, error }: FallbackResponse) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) made.unref();
    if (results !== undefined) asked?.resolve(results);
    else asked?.reject(new Error(`ml-matrix failed: ${error ?? 'no reason given'}`));
  });
  made.on('error', (error) => {
    worker = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  });
  return made;
}

/** Sends a request to the worker and resolves with its results. */
export function askWorker(request: Omit<FallbackRequest, 'id'>): Promise<Results> {
  worker ??= start();
  worker.ref();
  const id = ++lastId;
  const answered = new Promise<Results>((resolve, reject) => {
    waiting.set(id, { resolve, reject });
  });
  worker.postMessage({ ...request, id } satisfies FallbackRequest);
  return answered;
}
