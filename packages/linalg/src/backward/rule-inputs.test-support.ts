import type { Device, Tensor } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { dense, type Dense } from '../matrices.test-support.js';
import { stack, toDevice, type Host, type Tensors } from './finite-differences.test-support.js';

export const TRIANGLES = ['lower', 'upper'] as const;
export const only = (tensors: Tensors, name: string): Tensor<LinalgDType> => {
  const found = tensors[name];
  if (found === undefined) throw new TypeError(`no ${name}`);
  return found;
};

/** The tensors of these names alone. */
export const pick = (tensors: Tensors, names: readonly string[]): Tensors =>
  Object.fromEntries(names.map((name) => [name, only(tensors, name)]));

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export const matricesOf = (batch: readonly number[], make: (seed: number) => Dense): Host =>
  stack(
    batch,
    Array.from({ length: sizeOf(batch) }, (_, i) => make(i + 3)),
  );

/** Well apart, of both signs. */
export const spread = (n: number): number[] => Array.from({ length: n }, (_, i) => 1.3 * i - 1.7);

/** Exchanges the signs of columns (axis -1) or rows (axis -2) so that each has a positive product with the unchanged one. */
export function signsLike(found: Host, unchanged: Host, axis: -1 | -2): number[] {
  const [rows = 1, columns = 1] = found.shape.slice(-2);
  const vectors = axis === -1 ? columns : rows;
  const matrices = found.data.length / (rows * columns);
  const signs = new Array<number>(matrices * vectors).fill(0);
  found.data.forEach((x, i) => {
    const within = i % (rows * columns);
    const vector = axis === -1 ? within % columns : Math.floor(within / columns);
    const entry = Math.floor(i / (rows * columns)) * vectors + vector;
    signs[entry] = (signs[entry] ?? 0) + x * (unchanged.data[i] ?? NaN);
  });
  return signs.map(Math.sign);
}

export function withSigns(found: Host, signs: readonly number[], axis: -1 | -2): Host {
  const [rows = 1, columns = 1] = found.shape.slice(-2);
  const vectors = axis === -1 ? columns : rows;
  const data = found.data.map((x, i) => {
    const within = i % (rows * columns);
    const vector = axis === -1 ? within % columns : Math.floor(within / columns);
    return x * (signs[Math.floor(i / (rows * columns)) * vectors + vector] ?? NaN);
  });
  return { shape: found.shape, data };
}

export const diagonal = (...values: number[]): Dense =>
  dense(values.length, values.length, (i, j) => (i === j ? (values[i] ?? 0) : 0));

/** `sum_ij weight[i, j] x[i, j]` */
export const inner = (weight: Dense, x: Dense): number =>
  x.data.reduce((sum, value, i) => sum + value * (weight.data[i] ?? NaN), 0);

/** One matrix, or several as a batch, on a device. */
export const put = (
  matrices: Dense | readonly Dense[],
  device: Device,
): Promise<Tensor<'float64'>> =>
  toDevice(
    'data' in matrices ? stack([], [matrices]) : stack([matrices.length], matrices),
    'float64',
    device,
  );
