import type { MatrixLayout } from '../../operand.js';

/** Matrices by how a product walks through them. */
export type Strided = MatrixLayout;

/** Which axis has the leading dimension as its stride: that of the rows, or that of the columns. */
export type Order = 'row' | 'column';

/** A matrix as the library takes it. */
export interface Place {
  readonly order: Order;
  readonly leadingDimension: number;
}

/**
 * A matrix as the library takes it: one axis contiguous, the other one's stride a leading dimension that is at least as
 * long. undefined where it is not so and the matrix must be copied. Where both orders fit, the preferred one is taken.
 */
export function placeOf(matrix: Strided, preferred: Order = 'row'): Place | undefined {
  const orders: readonly Order[] = preferred === 'row' ? ['row', 'column'] : ['column', 'row'];
  for (const order of orders) {
    const leadingDimension = leadingOf(matrix, order);
    if (leadingDimension !== undefined) return { order, leadingDimension };
  }
  return undefined;
}

function leadingOf(matrix: Strided, order: Order): number | undefined {
  const { rows, columns, rowStride, columnStride } = matrix;
  const [count, stride] = order === 'row' ? [rows, rowStride] : [columns, columnStride];
  const [length, step] = order === 'row' ? [columns, columnStride] : [rows, rowStride];
  if (length > 1 && step !== 1) return undefined;
  const least = Math.max(1, length);
  if (count <= 1) return least;
  return stride >= least ? stride : undefined;
}
