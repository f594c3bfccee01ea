import type { Tensor } from '@mercer/tensor';

/** How a routine walks through the matrices of a tensor; strides in elements. */
export interface MatrixOperand {
  readonly memory: Tensor;
  readonly rows: number;
  readonly columns: number;
  readonly rowStride: number;
  readonly columnStride: number;
  /** One for each batch axis of the call; 0 where the tensor is repeated. */
  readonly batchStrides: readonly number[];
  /** A view of the memory whose last two axes are the rows and columns; the caller disposes it. */
  readonly view: () => Tensor;
}

/** The last two axes of a tensor as rows and columns, the others broadcast to the batch of the call. */
export function matrixOperand(memory: Tensor, batchShape: readonly number[]): MatrixOperand {
  const { shape, strides, rank } = memory;
  return {
    memory,
    rows: shape[rank - 2] ?? 1,
    columns: shape[rank - 1] ?? 1,
    rowStride: strides[rank - 2] ?? 1,
    columnStride: strides[rank - 1] ?? 1,
    batchStrides: spreadStrides(shape.slice(0, -2), strides, batchShape),
    view: () => memory.view(),
  };
}

/** The last axis of a row-major tensor as one column. */
export function columnOperand(memory: Tensor, batchShape: readonly number[]): MatrixOperand {
  const { shape, strides, rank } = memory;
  const rows = shape[rank - 1] ?? 1;
  return {
    memory,
    rows,
    columns: 1,
    rowStride: strides[rank - 1] ?? 1,
    columnStride: Math.max(1, rows),
    batchStrides: spreadStrides(shape.slice(0, -1), strides, batchShape),
    view: () => memory.reshape([...shape, 1]),
  };
}

/** Rows for columns; the same memory. */
export function transposed(operand: MatrixOperand): MatrixOperand {
  const { rows, columns, rowStride, columnStride, view } = operand;
  return {
    ...operand,
    rows: columns,
    columns: rows,
    rowStride: columnStride,
    columnStride: rowStride,
    view: () => {
      using plain = view();
      return plain.transpose();
    },
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
