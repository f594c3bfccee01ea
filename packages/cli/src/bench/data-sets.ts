import { Random } from '../random.js';

/** Kinds of data that a distance meets; plain normal data hides cancellation. */
export const DATA_SETS = ['normal', 'uniform', 'offset', 'close'] as const;
export type DataSet = (typeof DATA_SETS)[number];

export const DATA_SET_TEXT: Readonly<Record<DataSet, string>> = {
  normal: 'standard normal',
  uniform: 'uniform in [0, 1]',
  offset: 'standard normal + 100',
  close: 'normal, with duplicated rows and rows 1e-4 apart',
};

const POOL = 2 ** 20;

/** The two operands of a distance problem, row-major. */
export interface Operands {
  readonly a: Float32Array | Float64Array;
  readonly b: Float32Array | Float64Array;
}

/**
 * `aRows` and `bRows` rows of `columns` numbers. Small operands are drawn number by number; large ones are cut at
 * random places from a pool of a million draws, which keeps making 10^8 numbers a matter of copying.
 * In `close`, every second row of b repeats a row of a, exactly or moved by about 1e-4.
 */
export function makeOperands(
  set: DataSet,
  dtype: 'float32' | 'float64',
  aRows: number,
  bRows: number,
  columns: number,
  seed = 1,
): Operands {
  const random = new Random(seed);
  const draw = set === 'uniform' ? () => random.uniform() : () => random.normal();
  const shift = set === 'offset' ? 100 : 0;
  const a = drawMatrix(dtype, aRows * columns, columns, random, () => draw() + shift);
  const b = drawMatrix(dtype, bRows * columns, columns, random, () => draw() + shift);
  if (set === 'close') repeatRows(a, b, columns, random);
  return { a, b };
}

function drawMatrix(
  dtype: 'float32' | 'float64',
  size: number,
  columns: number,
  random: Random,
  draw: () => number,
): Float32Array | Float64Array {
  const make = (length: number): Float32Array | Float64Array =>
    dtype === 'float32' ? new Float32Array(length) : new Float64Array(length);
  const out = make(size);
  const pool = size <= POOL ? out : make(POOL);
  for (let i = 0; i < pool.length; i++) pool[i] = draw();
  if (pool === out) return out;
  for (let at = 0; at < size; at += columns) {
    const length = Math.min(columns, size - at);
    const start = random.integer(POOL - length);
    out.set(pool.subarray(start, start + length), at);
  }
  return out;
}

function repeatRows(
  a: Float32Array | Float64Array,
  b: Float32Array | Float64Array,
  columns: number,
  random: Random,
): void {
  const aRows = a.length / columns;
  const bRows = b.length / columns;
  const noise = Float64Array.from({ length: 65521 }, () => random.normal());
  for (let row = 0; row < bRows; row += 2) {
    const from = random.integer(aRows) * columns;
    const line = b.subarray(row * columns, (row + 1) * columns);
    line.set(a.subarray(from, from + columns));
    if (row % 4 === 0) continue;
    const start = random.integer(noise.length);
    for (let k = 0; k < columns; k++) {
      line[k] = (line[k] ?? 0) + 1e-4 * (noise[(start + k) % noise.length] ?? 0);
    }
  }
}
