import { dtypeBytes, planRows, type RowsPlan } from '@mercer/kernels';
import type { MatrixOperand, PairwiseShape } from './operands.js';
import type { PairwiseSpec } from './pairwise-spec.js';

/** How a pairwise kernel reads prepared rows: row-major, every row at a multiple of 16 bytes. */
export function rowsOperand({ dtype, k }: PairwiseShape, rows = 1, batchStride = 0): MatrixOperand {
  const perVector = 16 / dtypeBytes(dtype);
  const leadingStride = Math.ceil(k / perVector) * perVector;
  return {
    layout: 'row',
    leadingStride,
    batchStride: batchStride * rows * leadingStride,
    aligned: true,
  };
}

/** The plan that scales and normalises `rows` rows of an operand. */
export function rowsPlan(
  { normalise, scale }: NonNullable<PairwiseSpec['rows']>,
  { dtype, device, k, batch }: PairwiseShape,
  rows: number,
  { layout }: MatrixOperand,
): RowsPlan {
  const problem = { dtype, m: rows, k, batch, layout, scale: scale !== undefined, normalise };
  return planRows(problem, device.limits);
}
