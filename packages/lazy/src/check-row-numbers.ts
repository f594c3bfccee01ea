import { indexI, indexJ, postOrderVector, type VectorExpr } from '@mercer/formula/plan';
import type { Extent } from './extent.js';
import { describeInput, type Input } from './input.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';

/** How many rows there are, and in which dtype formulas are computed, if that is known. */
type Rows = Pick<Extent, 'rowsI' | 'rowsJ' | 'dtype'>;

/**
 * Refuses formulas with row numbers of a side that no input follows, since nothing tells how many rows there are, and of a side
 * with more rows than a number of the dtype can tell apart.
 *
 * @throws LazyError INVALID_ARGUMENT, UNSUPPORTED
 */
export function checkRowNumbers(
  what: string,
  formulas: readonly VectorExpr[],
  { rowsI, rowsJ, dtype = 'float32' }: Rows,
): void {
  const most = WHOLE_UP_TO[dtype];
  if ((rowsI ?? Infinity) <= most && (rowsJ ?? Infinity) <= most) return;
  const nodes = new Set(postOrderVector(...formulas));
  for (const [axis, rows, node] of [['i', rowsI, indexI] as const, ['j', rowsJ, indexJ] as const]) {
    if ((rows ?? Infinity) <= most || !nodes.has(node)) continue;
    if (rows !== undefined) {
      throw new LazyError(
        'UNSUPPORTED',
        `${what}: the formula has the row number of ${axis}, of which there are ${rows} rows, and row numbers are whole in ${dtype} up to ${most}. Compute it in float64.`,
      );
    }
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: the formula has the row number of ${axis}, and no input tells how many rows of ${axis} there are. ` +
        `Combine it with ${axis === 'i' ? 'lazyI' : 'lazyJ'}(data), or a placeholder.`,
    );
  }
}

/**
 * Refuses tables with more rows than a number of the dtype can tell apart.
 *
 * @throws LazyError UNSUPPORTED
 */
export function checkTables(what: string, inputs: readonly Input[], dtype: LazyDType): void {
  const most = WHOLE_UP_TO[dtype];
  const long = inputs.find(({ isTable, extent }) => isTable && (extent?.rows ?? 0) > most);
  if (long === undefined) return;
  throw new LazyError(
    'UNSUPPORTED',
    `${what}: ${describeInput(long)} has ${long.extent?.rows} rows, and row numbers are whole in ${dtype} up to ${most}. Compute it in float64.`,
  );
}
