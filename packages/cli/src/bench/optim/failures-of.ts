import type { OptimiserState } from '@mercer/core';
import { CliError } from '../../cli-error.js';

/**
 * How often in a row a root, basis or inverse of a state could not be computed, of the matrix with most: 0. Undefined where an optimiser has none.
 *
 * @param way what was measured
 * @throws CliError NO_PRECONDITIONER where it is not 0: the times would be of steps with old matrices
 */
export async function failuresOf(way: string, state: OptimiserState): Promise<number | undefined> {
  const counts: number[] = [];
  for (const [name, one] of state.tensors) {
    if (!/\/failures[\d.]*$/.test(name)) continue;
    counts.push(...Array.from(await one.toTypedArray(), Number));
  }
  if (counts.length === 0) return undefined;
  const most = Math.max(...counts);
  if (most === 0) return most;
  throw new CliError(
    'NO_PRECONDITIONER',
    `Cannot measure ${way}: the last ${most} refreshes left a matrix as it was. Pass a larger eps, or another method of roots.`,
  );
}
