// Columns and rows of the tables that state measurements.
import {
  cells,
  error,
  formatMs,
  formatShare,
  measurement,
  operation,
  ratio,
  reduction,
  short,
  time,
} from './measurements.mjs';

/**
 * @typedef {import('./measurements.mjs').Cell} Cell
 * @typedef {readonly [head: string, cell: (cell: Cell) => string]} Column
 * @typedef {{ file: string, name: string, text: () => string }} Claim
 */

export const float32 = 'float32';
/** @type {Column} */
export const work = ['work', reduction];
/** @type {Column} */
export const ours = ['Mercer', (cell) => time(cell)];
/** @type {(head: string, peer: string) => Column} */
export const theirs = (head, peer) => [head, (cell) => time(cell, peer)];
/** @type {(head: string) => Column} */
export const share = (head) => [
  head,
  ({ shareOfFloor, floor }) =>
    shareOfFloor
      ? `${formatShare(shareOfFloor)}${floor?.kind === 'launch' ? ' of a launch' : ''}`
      : '',
];
/** @type {(peer?: string) => Column} */
export const errorOf = (peer) => ['error', (cell) => error(cell, peer)];
/** @type {Column} */
export const gain = ['KeOps / Mercer', (cell) => short(ratio(cell, 'pykeops'))];
/** @type {(peer: string) => (cell: Cell) => string} */
export const timeAndError = (peer) => (cell) =>
  time(cell, peer) ? `${time(cell, peer)} (${error(cell, peer)})` : '';
/** @type {(cell: Cell) => string} */
export const norm = ({ p }) => (p === 'inf' ? 'infinity' : String(p));
/** @type {(cell: Cell) => string} */
export const grad = (cell) =>
  cell.operation === 'weightedDifferences'
    ? `${operation(cell)}, ${cell.m}, ${cell.n}, ${cell.o}, ${cell.k}`
    : operation(cell);

/** The runs of linear algebra: the name that marks a row of each in the table, and the rows that are taken from it. */
const LINEAR_RUNS = [
  {
    run: 'h200-linalg',
    mark: '',
    takes: (/** @type {any} */ { n, operation }) => n !== 8192 && operation !== 'solveLU',
  },
  {
    run: 'h200-linalg-8192',
    mark: ' (b)',
    takes: (/** @type {any} */ { operation }) => operation !== 'solveLU',
  },
  { run: 'h200-linalg-lu', mark: ' (c)', takes: () => true },
];

/** The linear algebra of all runs: a row for each operation, order and batch, of both dtypes. */
export function linearRows() {
  /** @type {any[]} */
  const all = LINEAR_RUNS.flatMap(({ run, mark, takes }) =>
    cells(run)
      .filter(takes)
      .map((/** @type {any} */ cell) => ({ ...cell, run, mark })),
  );
  const order = ['solveCholesky', 'solveLU', 'eigh', 'svd', 'matmul'];
  return all
    .filter(({ dtype }) => dtype === float32)
    .sort((a, b) => order.indexOf(a.operation) - order.indexOf(b.operation) || a.n - b.n)
    .map((single) => {
      const double = all.find(
        (cell) =>
          cell.dtype === 'float64' && cell.operation === single.operation && cell.n === single.n,
      );
      /** @param {any} cell */
      const torch = (cell) =>
        measurement(cell.run).peers.cells.find(
          (/** @type {any} */ other) =>
            other.operation === cell.operation && other.dtype === cell.dtype && other.n === cell.n,
        ).ms.median;
      return { single, double, torch };
    });
}
/** @typedef {ReturnType<typeof linearRows>[number]} LinearRow */

/** @param {'single' | 'double'} of @returns {readonly (readonly [string, (row: LinearRow) => string])[]} */
export const besideTorch = (of) => [
  [of === 'single' ? float32 : 'float64', (row) => formatMs(row[of].ms.median)],
  ['torch', (row) => formatMs(row.torch(row[of]))],
  ['share', (row) => (row[of].ms.median / row.torch(row[of])).toFixed(2)],
];
