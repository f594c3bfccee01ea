/** One problem of the grid: distances of `m` rows to `n` rows of `k` numbers, `batch` times over. */
export interface Cell {
  readonly dtype: 'float32' | 'float64';
  readonly p: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
}

/** The values that each axis of the grid takes. */
export interface GridAxes {
  readonly dtype: readonly Cell['dtype'][];
  readonly p: readonly number[];
  readonly m: readonly number[];
  readonly n: readonly number[];
  readonly k: readonly number[];
  readonly batch: readonly number[];
}

/** The whole grid that results are published on. */
export const FULL_GRID: GridAxes = {
  dtype: ['float32'],
  p: [1, 1.3, 2, Infinity],
  m: [1, 32, 1000, 30000],
  n: [1, 32, 1000, 30000],
  k: [1, 3, 64, 1024, 4096],
  batch: [1, 100],
};

/** A dozen cells that show the shape of the results within a minute, also on a small CPU. */
export const QUICK_GRID: GridAxes = {
  dtype: ['float32'],
  p: [1, 1.3, 2],
  m: [1, 1000],
  n: [1000],
  k: [64, 1024],
  batch: [1],
};

/** Every combination, the small problems first. */
export function gridCells(axes: GridAxes): Cell[] {
  const cells: Cell[] = [];
  for (const dtype of axes.dtype)
    for (const p of axes.p)
      for (const batch of axes.batch)
        for (const k of axes.k)
          for (const m of axes.m) for (const n of axes.n) cells.push({ dtype, p, m, n, k, batch });
  return cells.sort((a, b) => cellPairs(a) * a.k - cellPairs(b) * b.k);
}

/** Cells that share their operands, in the order in which they come. */
export function groupByOperands(cells: readonly Cell[]): Cell[][] {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) {
    const key = [cell.dtype, cell.m, cell.n, cell.k, cell.batch].join();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [cell]);
    else group.push(cell);
  }
  return [...groups.values()];
}

/** Distances that a cell computes. */
export function cellPairs(cell: Cell): number {
  return cell.m * cell.n * cell.batch;
}

export function elementBytes(cell: Cell): 4 | 8 {
  return cell.dtype === 'float32' ? 4 : 8;
}

/** Bytes of both inputs. */
export function operandBytes(cell: Cell): number {
  return (cell.m + cell.n) * cell.k * cell.batch * elementBytes(cell);
}

/** Bytes that must move at the least: both inputs read and the result written once. */
export function cellBytes(cell: Cell): number {
  return operandBytes(cell) + cellPairs(cell) * elementBytes(cell);
}

/** A cell in a few letters, for tables and progress. */
export function cellName(cell: Cell): string {
  const batch = cell.batch === 1 ? '' : `${cell.batch} x `;
  const p = cell.p === Infinity ? 'inf' : cell.p;
  const type = cell.dtype === 'float32' ? '' : ` ${cell.dtype}`;
  return `p=${p}${type} ${batch}${cell.m} x ${cell.n} x ${cell.k}`;
}
