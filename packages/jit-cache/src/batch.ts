import { availableParallelism } from 'node:os';
import { BatchError } from './errors.js';
import type { Artifact, BatchOptions, CompileUnit } from './types.js';

/**
 * Gets all units, several at once, in the order given. Every unit is tried even when one fails,
 * so that what can be compiled is kept; then the failure is thrown, or a BatchError with all.
 */
export async function runBatch(
  units: readonly CompileUnit[],
  options: BatchOptions,
  get: (unit: CompileUnit) => Promise<Artifact>,
): Promise<Artifact[]> {
  const results: Artifact[] = [];
  const failures: unknown[] = [];
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < units.length; index = next++) {
      const unit = units[index];
      if (!unit || options.signal?.aborted) continue;
      try {
        results[index] = await get(unit);
      } catch (error) {
        failures.push(error);
      }
      done++;
      options.onProgress?.({ done, total: units.length, current: unit.names[0] ?? '' });
    }
  };
  const width = Math.max(1, Math.min(units.length, options.concurrency ?? availableParallelism()));
  await Promise.all(Array.from({ length: width }, work));
  options.signal?.throwIfAborted();
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) {
    throw new BatchError(
      failures,
      `${String(failures.length)} of ${String(units.length)} units could not be compiled; each has its error in .errors.`,
    );
  }
  return results;
}
