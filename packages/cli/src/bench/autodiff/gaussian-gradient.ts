import {
  grad,
  lazyI,
  lazyJ,
  tensor,
  valueAndGradients,
  type Device,
  type LazyTensor,
  type Tensor,
} from '@mercer/core';
import { evenlySpread } from '../statistics.js';
import type { AutodiffRow, AutodiffSizes } from './autodiff-row.js';
import { hashedNumbers } from './hashed-numbers.js';
import { relativeError } from './relative-error.js';
import { STEADY_MS } from '../timer.js';
import { timeOfCalls } from './time-of-calls.js';

const DIMS = 3;
const CHECKED_ROWS = 40;

/** The gradient of a Gaussian sum by `grad`, and by `valueAndGradients` of symbolic matrices called directly. */
export async function measureGaussianGradient(
  device: Device,
  { points }: AutodiffSizes,
): Promise<readonly AutodiffRow[]> {
  const rows: AutodiffRow[] = [];
  for (const n of points) rows.push(...(await measurePoints(device, n)));
  return rows;
}

async function measurePoints(device: Device, n: number): Promise<readonly AutodiffRow[]> {
  const [a, b] = [hashedNumbers(n * DIMS, 3, [0, 1]), hashedNumbers(n * DIMS, 4, [0, 1])];
  using x = await tensor(a, { shape: [n, DIMS], device });
  using y = await tensor(b, { shape: [n, DIMS], device });
  const gaussian = (rows: LazyTensor<'float32'>) => rows.sqdist(lazyJ(y)).neg().exp();
  const ofSum = grad((v: Tensor<'float32'>) => gaussian(lazyI(v)).sum('j').sum());
  const direct = async (): Promise<Tensor> => {
    const rows = lazyI(x);
    const { value, gradients } = await valueAndGradients(gaussian(rows).reduction('Sum', 'j'), {
      rows,
    });
    value.dispose();
    return gradients.rows;
  };
  const checked = evenlySpread(n, CHECKED_ROWS);
  const truth = checked.flatMap((row) => trueGradient(a, b, row));
  const measured: AutodiffRow[] = [];
  for (const [way, call] of [
    ['grad', () => ofSum(x)],
    ['valueAndGradients', direct],
  ] as const) {
    const found = await call();
    const numbers = await found.toTypedArray();
    found.dispose();
    const some = checked.flatMap((row) => [...numbers.slice(row * DIMS, (row + 1) * DIMS)]);
    const error = relativeError(some, truth);
    const us = await timeOfCalls(device, 1, async () => (await call()).dispose(), STEADY_MS);
    measured.push({ operation: 'gaussianGradient', library: 'mercer', way, n, us, error });
  }
  return measured;
}

/** One row of the gradient, term by term. */
function trueGradient(a: Float32Array, b: Float32Array, row: number): number[] {
  const slopes = new Array<number>(DIMS).fill(0);
  for (let j = 0; j < b.length; j += DIMS) {
    const differences = slopes.map((_, d) => (a[row * DIMS + d] ?? NaN) - (b[j + d] ?? NaN));
    const term = Math.exp(-differences.reduce((sum, one) => sum + one * one, 0));
    for (const [d, one] of differences.entries()) slopes[d] = (slopes[d] ?? NaN) - 2 * one * term;
  }
  return slopes;
}
