import type { ReductionCell } from '../cells.js';
import { makeOperands, type DataSet } from '../data-sets.js';
import type { FloatArray } from './operation.js';

/**
 * Points of a data set, divided by sqrt(D): squared distances of normal points are about 2 at every D. Those of standard normal
 * points would be 2 D, and exp(-2 D) is 0 in float32 from D of about 50.
 */
export function points(set: DataSet, { dtype, m, n, d, batch }: ReductionCell): FloatArray[] {
  const { a, b } = makeOperands(set, dtype, m * batch, n * batch, d);
  const scale = 1 / Math.sqrt(d);
  for (const list of [a, b]) {
    for (let i = 0; i < list.length; i++) list[i] = (list[i] ?? NaN) * scale;
  }
  return [a, b];
}
