import { Matrix } from 'ml-matrix';

/** The whole symmetric matrix that one triangle of `a` stands for. */
export function symmetric(a: Matrix, upper: boolean): Matrix {
  return build(a.rows, a.columns, (i, j) =>
    upper ? a.get(Math.min(i, j), Math.max(i, j)) : a.get(Math.max(i, j), Math.min(i, j)),
  );
}

/** A matrix from its elements. */
export function build(
  rows: number,
  columns: number,
  element: (row: number, column: number) => number,
): Matrix {
  const made = new Matrix(rows, columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) made.set(i, j, element(i, j));
  }
  return made;
}

/** True where no element is NaN or infinite. */
export function allFinite(a: Matrix): boolean {
  for (let i = 0; i < a.rows; i++) {
    for (let j = 0; j < a.columns; j++) if (!Number.isFinite(a.get(i, j))) return false;
  }
  return true;
}
