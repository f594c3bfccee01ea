import type { Tensor } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';

/** How a routine walks through the matrices of a tensor; strides in elements. */
export interface MatrixLayout {
  readonly rows: number;
  readonly columns: number;
  readonly rowStride: number;
  readonly columnStride: number;
  /** One for each batch axis of the call; 0 where the tensor is repeated. */
  readonly batchStrides: readonly number[];
}

/** Matrices of a call that is planned. */
export interface PlannedMatrix extends MatrixLayout {
  readonly memory: CallView;
}

/** Matrices of a call that is enqueued. */
export interface MatrixOperand extends MatrixLayout {
  readonly memory: Tensor;
}

/** The last two axes of a tensor as rows and columns, the others broadcast to the batch of the call. */
export function matrixOperand<M extends CallView | Tensor>(
  memory: M,
  batchShape: readonly number[],
): MatrixLayout & { readonly memory: M } {
  const { shape, strides } = memory;
  return {
    memory,
    rows: shape.at(-2) ?? 1,
    columns: shape.at(-1) ?? 1,
    rowStride: strides.at(-2) ?? 1,
    columnStride: strides.at(-1) ?? 1,
    batchStrides: spreadStrides(shape.slice(0, -2), strides, batchShape),
  };
}

/** The last axis as one column. */
export function columnOperand(memory: CallView, batchShape: readonly number[]): PlannedMatrix {
  const { shape, strides } = memory;
  const rows = shape.at(-1) ?? 1;
  return {
    memory,
    rows,
    columns: 1,
    rowStride: strides.at(-1) ?? 1,
    columnStride: Math.max(1, rows),
    batchStrides: spreadStrides(shape.slice(0, -1), strides, batchShape),
  };
}

/** Rows for columns; the same memory. */
export function transposed<M extends MatrixLayout>(operand: M): M {
  const { rows, columns, rowStride, columnStride } = operand;
  return {
    ...operand,
    rows: columns,
    columns: rows,
    rowStride: columnStride,
    columnStride: rowStride,
  };
}

function spreadStrides(
  own: readonly number[],
  strides: readonly number[],
  batchShape: readonly number[],
): number[] {
  const missing = batchShape.length - own.length;
  return batchShape.map((_, axis) => {
    const at = axis - missing;
    return at < 0 || own[at] === 1 ? 0 : (strides[at] ?? 0);
  });
}
