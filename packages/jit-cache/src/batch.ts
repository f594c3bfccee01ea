import { availableParallelism } from 'node:os';
import { BatchError } from './errors.js';

/** How a batch is worked through. */
export interface BatchRun<U> {
  /** How many are under way at once. Default: the machine's parallelism. */
  readonly concurrency?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when another one is done, whether it failed or not. */
  readonly onDone?: (done: number, unit: U) => void;
}

/**
 * Gets all units, several at once; the results are in the order given. Every unit is tried even when one fails,
 * so that what can be compiled is kept; then the failure is thrown, or a BatchError with all.
 */
export async function runBatch<U, R>(
  units: readonly U[],
  { concurrency = availableParallelism(), signal, onDone }: BatchRun<U>,
  get: (unit: U) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const entries = units.entries();
  let done = 0;
  const work = async (): Promise<void> => {
    for (const [index, unit] of entries) {
      if (signal?.aborted) continue;
      try {
        results[index] = await get(unit);
      } catch (error) {
        failures.push(error);
      }
      onDone?.(++done, unit);
    }
  };
  const width = Math.max(1, Math.min(units.length, concurrency));
  await Promise.all(Array.from({ length: width }, work));
  signal?.throwIfAborted();
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) {
    throw new BatchError(
      failures,
      `${failures.length} of ${units.length} units could not be compiled; .errors has the error of each. The first: ${textOf(failures[0])}`,
    );
  }
  return results;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
