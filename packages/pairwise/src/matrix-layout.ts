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
 * An axis of extent 1 has no meaningful stride, so one row or one column can be read either way: as `preferred` where that
 * fits; else a single column whose rows are contiguous counts as column-major, which lets kernels load along them.
 */
export function matrixLayout(
  shape: readonly number[],
  strides: readonly number[],
  preferred?: Layout,
): MatrixView | undefined {
  const rank = shape.length;
  const rows = shape[rank - 2] ?? 1;
  const columns = shape[rank - 1] ?? 1;
  const rowStride = strides[rank - 2] ?? 1;
  const columnStride = strides[rank - 1] ?? 1;
  const byRows = view('row', columns, columnStride, rows, rowStride);
  const byColumns = view('column', rows, rowStride, columns, columnStride);
  const first = preferred ?? (columns <= 1 && rows > 1 ? 'column' : 'row');
  return first === 'row' ? (byRows ?? byColumns) : (byColumns ?? byRows);
}

/** The view along one axis, the line, or undefined where the line is not contiguous or the lines run backwards. */
function view(
  layout: Layout,
  length: number,
  step: number,
  lines: number,
  leadingStride: number,
): MatrixView | undefined {
  if (length > 1 && step !== 1) return undefined;
  // No kernel steps from the only line to a next one: rounded up, its length does not spoil the alignment.
  if (lines <= 1) return { layout, leadingStride: Math.ceil(length / 4) * 4 };
  return leadingStride < 0 ? undefined : { layout, leadingStride };
}
