import type { Layout } from '@mercer/kernels';

/** The last two axes of a strided operand as a kernel sees them. */
export interface MatrixView {
  /** `row`: the last axis is contiguous; `column`: the one before it is. */
  readonly layout: Layout;
  /** Stride of the axis that is not contiguous, in elements. */
  readonly leadingStride: number;
}

/**
 * Reads the layout of the last two axes, or returns undefined when neither axis is contiguous or the other stride is negative
 * (such an operand has to be copied first).
 *
 * An axis of extent 1 has no meaningful stride: a matrix with one column counts as column-major when its rows are
 * contiguous, which lets kernels load along them.
 */
export function matrixLayout(
  shape: readonly number[],
  strides: readonly number[],
): MatrixView | undefined {
  const rank = shape.length;
  const rows = shape[rank - 2] ?? 1;
  const columns = shape[rank - 1] ?? 1;
  const rowStride = strides[rank - 2] ?? 1;
  const columnStride = strides[rank - 1] ?? 1;
  if (columns <= 1 && rows > 1) {
    if (rowStride === 1) return { layout: 'column', leadingStride: unusedStride(rows) };
    return rowStride >= 0 ? { layout: 'row', leadingStride: rowStride } : undefined;
  }
  if (rows <= 1 && columns <= 1) return { layout: 'row', leadingStride: 1 };
  if (rows <= 1) {
    if (columnStride === 1) return { layout: 'row', leadingStride: unusedStride(columns) };
    return columnStride >= 0 ? { layout: 'column', leadingStride: columnStride } : undefined;
  }
  if (columnStride === 1 && rowStride >= 0) return { layout: 'row', leadingStride: rowStride };
  if (rowStride === 1 && columnStride >= 0) {
    return { layout: 'column', leadingStride: columnStride };
  }
  return undefined;
}

/** A leading stride that no kernel will step by, rounded up so that it does not spoil the alignment. */
function unusedStride(extent: number): number {
  return Math.ceil(extent / 4) * 4;
}
