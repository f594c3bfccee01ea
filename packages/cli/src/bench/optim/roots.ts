import {
  eye,
  matmul,
  matrixPower,
  qr,
  random,
  tensor,
  type Device,
  type MatrixPowerOptions,
  type Tensor,
} from '@mercer/core';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import { CONDITION, type OptimRow, type OptimSizes } from './optim-row.js';

const ROOT = 4;
/** Steps of Newton's iteration that the condition number takes: see `matrixPower`. */
const STEPS = Math.ceil(Math.log(CONDITION) / (ROOT * Math.log(1 + 1 / ROOT))) + 5;

type How = MatrixPowerOptions<'float32'>;

const WAYS: Readonly<Record<string, How>> = {
  eigh: {},
  newton: { method: 'newton', steps: STEPS },
  higherOrder: { method: 'higherOrder', steps: Math.ceil((2 / 3) * STEPS) },
};

/** Inverse fourth roots of a symmetric matrix in float32, by each method. */
export async function measureRoots(
  device: Device,
  { rootRows: n }: OptimSizes,
): Promise<readonly OptimRow[]> {
  const rows: OptimRow[] = [];
  using a = await symmetric(device, n);
  for (const [way, how] of Object.entries(WAYS)) {
    const { result, errors, infos } = await matrixPower(a, -1 / ROOT, how);
    const error = await residual(a, result);
    for (const one of [result, errors, infos]) one.dispose();
    const us = await timeOfCalls(device, 1, async () => {
      for (const one of Object.values(await matrixPower(a, -1 / ROOT, how)) as Tensor[])
        one.dispose();
    });
    rows.push({ operation: 'roots', library: 'mercer', way, n: n * n, tensors: 1, us, error });
  }
  return rows;
}

/** A matrix whose eigenvalues go down from 1 by equal factors. */
async function symmetric(device: Device, n: number): Promise<Tensor<'float32'>> {
  using normal = await random.normal([n, n], { key: random.key(1), dtype: 'float64', device });
  const { q, r } = await qr(normal);
  r.dispose();
  const places = Float64Array.from({ length: n }, (_, k) => CONDITION ** (-k / (2 * (n - 1))));
  using scales = await tensor(places, { device });
  using scaled = await q.mul(scales);
  q.dispose();
  using product = await matmul(scaled, scaled, { transposeB: true });
  return await product.cast('float32');
}

/** The norm of X^4 A - I by that of I, in float64. */
async function residual(a: Tensor<'float32'>, x: Tensor<'float32'>): Promise<number> {
  using wide = await x.cast('float64');
  using square = await matmul(wide, wide);
  using fourth = await matmul(square, square);
  using given = await a.cast('float64');
  using product = await matmul(fourth, given);
  const [n = 1] = a.shape;
  using identity = await eye(n, { dtype: 'float64', device: a.device });
  using off = await product.sub(identity);
  return (await off.norm().item()) / Math.sqrt(n);
}
