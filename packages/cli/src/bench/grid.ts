import { smallFirst, type Cell, type KernelCell, type OperationName } from './cells.js';

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

/** Every combination for one operation, the small problems first. */
export function gridCells(axes: GridAxes, operation: OperationName = 'cdist'): KernelCell[] {
  const cells: KernelCell[] = [];
  for (const dtype of axes.dtype)
    for (const p of axes.p)
      for (const batch of axes.batch)
        for (const k of axes.k)
          for (const m of axes.m)
            for (const n of axes.n) cells.push({ operation, dtype, p, m, n, k, batch });
  return smallFirst(cells);
}
