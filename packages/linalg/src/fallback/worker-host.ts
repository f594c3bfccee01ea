import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { onAbort } from '@mercer/options';
import { packageRoot } from '../package-root.js';
import { failure } from './failure.js';
import type { RunOptions } from '../options.js';
import type { FallbackRequest, FallbackResponse } from './messages.js';

type Results = Readonly<Record<string, Float64Array>>;

/** Who looks on while the worker computes. */
export interface Watch {
  /** The operation, as errors and warnings name it. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: RunOptions['onProgress'];
}

interface Waiting {
  readonly request: FallbackRequest;
  readonly progress: Watch['onProgress'];
  readonly resolve: (results: Results) => void;
  readonly reject: (error: unknown) => void;
}

/** After so long one warning says what would be quicker. */
const LONG_MS = 60_000;

let worker: Worker | undefined;
let lastId = 0;
let warned = false;
/** In the order of asking, which is the order of answering. */
const waiting = new Map<number, Waiting>();

/** One worker for the program, started at the first call; it keeps no process alive once it has answered. */
function start(): Worker {
  // Named from the package's root, so that the sources under test and the published bundle find the compiled worker too.
  // Without the program's own flags: with --input-type a worker takes no file.
  const made = new Worker(new URL('dist/fallback/worker.js', packageRoot), { execArgv: [] });
  made.on('message', ({ id, done, results, error }: FallbackResponse) => {
    const asked = waiting.get(id);
    if (done !== undefined) {
      report(asked, done);
      return;
    }
    waiting.delete(id);
    if (waiting.size === 0) made.unref();
    if (results !== undefined) asked?.resolve(results);
    else asked?.reject(failure(asked.request.routine, error));
  });
  made.on('error', (error) => {
    if (worker === made) worker = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  });
  return made;
}

/** A callback that throws ends its own call, not the worker's. */
function report(asked: Waiting | undefined, done: number): void {
  try {
    asked?.progress?.({ done, total: asked.request.count });
  } catch (error) {
    asked?.reject(error);
  }
}

/**
 * Sends a request to the worker and resolves with its results.
 *
 * @throws the reason of `signal`, which also ends the worker; requests of others go to a new one
 */
export async function askWorker(
  request: Omit<FallbackRequest, 'id'>,
  { what, signal, onProgress: progress }: Watch,
): Promise<Results> {
  signal?.throwIfAborted();
  const id = ++lastId;
  const numbered: FallbackRequest = { ...request, id };
  const answered = new Promise<Results>((resolve, reject) => {
    waiting.set(id, { request: numbered, progress, resolve, reject });
  });
  worker ??= start();
  worker.ref();
  worker.postMessage(numbered);
  const abort = (): void => {
    waiting.get(id)?.reject(signal?.reason);
    waiting.delete(id);
    startAgain();
  };
  const leave = signal && onAbort(signal, abort);
  const long = setTimeout(() => {
    warn(what, request);
  }, LONG_MS).unref();
  try {
    return await answered;
  } finally {
    clearTimeout(long);
    leave?.();
  }
}

/** Plain JavaScript cannot be interrupted: the worker ends, and a new one takes what others have asked for. */
function startAgain(): void {
  void worker?.terminate();
  worker = undefined;
  if (waiting.size === 0) return;
  worker = start();
  for (const { request } of waiting.values()) worker.postMessage(request);
}

function warn(what: string, { matrices }: Omit<FallbackRequest, 'id'>): void {
  if (warned) return;
  warned = true;
  const { rows = 0, columns = 0 } = matrices['a'] ?? {};
  process.emitWarning(
    `${what} of ${rows} by ${columns} has been computing for a minute in plain JavaScript, as no LAPACK was found. ` +
      'One is many times quicker: lapack.report() says what was tried and what to install. `signal` ends a call.',
    { type: 'MercerWarning', code: 'NO_LAPACK' },
  );
}
