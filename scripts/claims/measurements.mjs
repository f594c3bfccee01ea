// The measurements in bench/results, and how their figures are written.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { readJson, root } from '../lib/workspace.mjs';

const results = path.join(root, 'bench/results');

/** Names of all measurements: `cpu-keops.json` and the like. */
export const measurementFiles = readdirSync(results).filter((file) => file.endsWith('.json'));

/** @type {{ formatMs(ms: number): string, formatShare(share: number | undefined): string }} */
export const { formatMs, formatShare } = await import(
  pathToFileURL(path.join(root, 'packages/cli/dist/output/format.js')).href
);

/**
 * A cell of a report, its peers' times and its file.
 * @typedef {{ operation: string, dtype: string, m: number, n: number, d: number, k: number, o: number, p: number | 'inf',
 *   batch: number, ms: { median: number }, errors: Record<string, { max: number }>, shareOfFloor?: number, floor?: { kind: string },
 *   shareOfHandWritten?: number, peers: Record<string, { ms?: { median: number }, maxErrorInUnits?: number }> }} Cell
 */

/** @param {string} name `cpu-keops` and the like */
export function measurement(name) {
  return readJson(path.join(results, `${name}.json`));
}

const SHAPE = ['operation', 'dtype', 'm', 'n', 'd', 'k', 'o', 'p', 'batch'];

/** Reports, and the one that measured some of their cells again, with all peers. @type {Readonly<Record<string, string>>} */
const AGAIN = { 'h200-keops': 'h200-keops-long-rows' };

/**
 * The cells of a report with what peers took for the same; those that another report measured again are that one's.
 * @param {string} name
 * @returns {Cell[]}
 */
export function cells(name) {
  const again = AGAIN[name];
  if (again === undefined) return ownCells(name);
  const newer = cells(again);
  return ownCells(name).map(
    (cell) =>
      newer.find((one) =>
        SHAPE.every(
          (key) => one[/** @type {keyof Cell} */ (key)] === cell[/** @type {keyof Cell} */ (key)],
        ),
      ) ?? cell,
  );
}

/** @param {string} name @returns {Cell[]} */
function ownCells(name) {
  const report = measurement(name);
  return report.cells.map((/** @type {any} */ cell) => ({
    ...cell,
    peers: Object.fromEntries(
      report.peers.cells
        .filter((/** @type {any} */ other) => SHAPE.every((key) => other[key] === cell[key]))
        .map((/** @type {any} */ other) => [other.peer, other]),
    ),
  }));
}

/**
 * The cells that have these properties, one for each in the order asked for.
 * @param {string} name
 * @param {readonly Partial<Cell>[]} wanted
 * @throws where there is none, or more than one
 */
export function pick(name, wanted) {
  return wanted.map((properties) => {
    const found = cells(name).filter((cell) =>
      Object.entries(properties).every(
        ([key, value]) => cell[/** @type {keyof Cell} */ (key)] === value,
      ),
    );
    if (found.length === 1 && found[0]) return found[0];
    throw new Error(
      `${name}.json has ${found.length} cells with ${JSON.stringify(properties)}, one is wanted`,
    );
  });
}

/**
 * A time, of a peer where one is named.
 * @param {Cell} cell
 * @param {string} [peer]
 */
export function time(cell, peer) {
  const ms = peer === undefined ? cell.ms : cell.peers[peer]?.ms;
  return ms ? formatMs(ms.median) : '';
}

/** Two digits: `0.072`, `17`, `1.2`. @param {number} value */
export function short(value) {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}

/** The error on normal data, or a peer's. @param {Cell} cell @param {string} [peer] */
export function error(cell, peer) {
  const units = peer === undefined ? cell.errors.normal?.max : cell.peers[peer]?.maxErrorInUnits;
  return units === undefined || (peer !== undefined && !cell.peers[peer]?.ms)
    ? ''
    : `${short(units)} u`;
}

/** The largest error over all data. @param {Cell} cell */
export function largestError(cell) {
  return `${short(Math.max(...Object.values(cell.errors).map(({ max }) => max)))} u`;
}

/** How many times as long a peer takes. @param {Cell} cell @param {string} peer */
export function ratio(cell, peer) {
  const other = cell.peers[peer]?.ms?.median;
  return other === undefined ? Number.NaN : other / cell.ms.median;
}

/** The least and the largest ratio of some cells: `5.7 to 55`. @param {readonly Cell[]} some @param {string} peer */
export function ratios(some, peer) {
  const all = some.map((cell) => ratio(cell, peer));
  if (all.length === 0 || all.some(Number.isNaN)) throw new Error(`no ratios to ${peer}`);
  return `${short(Math.min(...all))} to ${short(Math.max(...all))}`;
}

/** 10000 is 1e4, 3162 is 3162. @param {number} count */
export function count(count) {
  const [digits, exponent] = count.toExponential().replace('+', '').split('e');
  return digits?.length === 1 && count >= 1000 ? `${digits}e${exponent}` : String(count);
}

export const NAMES = {
  gaussianSum: () => 'Gaussian sum',
  laplacianSum: () => 'Laplacian sum',
  logSumExp: () => 'log-sum-exp',
  gaussianGradient: () => 'Gaussian sum and gradient',
  nearest: (/** @type {Cell} */ { k }) => `${k} nearest`,
  kMeansAssignment: (/** @type {Cell} */ { n }) => `nearest of ${n} centres`,
  kMeans: () => 'K-means, ten iterations',
  cdist: (/** @type {Cell} */ { p }) => `cdist, p = ${p}`,
  minkowski: (/** @type {Cell} */ { p }) => `Minkowski distances, p = ${p} in memory`,
  laplace: () => 'Laplacian of the 1-norm',
  exponential: () => 'Laplacian of the 2-norm',
  gaussian: () => 'Gaussian',
  weightedDifferences: (/** @type {Cell} */ { p }) => `weightedDifferences, p = ${p}`,
};
const ORDER = Object.keys(NAMES);

/** What a cell computes, without its extents. @param {Cell} cell */
export function operation(cell) {
  const name = NAMES[/** @type {keyof typeof NAMES} */ (cell.operation)];
  return name(cell);
}

/** What a reduction computes: `Gaussian sum, D = 3, float64, 1e5 x 1e5`. @param {Cell} cell */
export function reduction(cell) {
  const dtype = cell.dtype === 'float32' ? '' : `, ${cell.dtype}`;
  return `${operation(cell)}, D = ${cell.d}${dtype}, ${count(cell.m)} x ${count(cell.n)}`;
}

/** Sorted by operation, then dimension, dtype and extents. @param {readonly Cell[]} some */
export function sorted(some) {
  /** @param {Cell} cell */
  const key = ({ operation: name, d = 0, dtype, m, n, k = 0, p }) => [
    ORDER.indexOf(name),
    d,
    Number(dtype.slice(-2)),
    k,
    m * n,
    Number(p === 'inf' ? Infinity : p),
  ];
  return [...some].sort((a, b) => {
    const other = key(b);
    return (
      key(a)
        .map((value, at) => (value ?? 0) - (other[at] ?? 0))
        .find((difference) => difference) ?? 0
    );
  });
}
