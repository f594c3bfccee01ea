import { grad, tensor, type Device, type Pending, type Tensor } from '@mercer/core';
import { evenlySpread } from '../statistics.js';
import type { AutodiffRow, AutodiffSizes } from './autodiff-row.js';
import { hashedNumbers } from './hashed-numbers.js';
import { relativeError } from './relative-error.js';
import { timeOfCalls } from './time-of-calls.js';

/** Five operations, twenty times: a hundred in all. */
const CYCLES = 20;
const CHECKED = 1000;

/** A chain of elementwise operations on a large array, with its gradient and without. */
export async function measureChain(
  device: Device,
  { elements }: AutodiffSizes,
): Promise<readonly AutodiffRow[]> {
  const data = hashedNumbers(elements, 1, [-1, 1]);
  using x = await tensor(data, { device });
  const gradient = grad((v: Tensor) => chain(v).sum());
  const value = (): PromiseLike<Tensor> => chain(x);
  const rows: AutodiffRow[] = [];
  for (const [way, call, truth] of [
    ['value', value, (v: number) => trueChain(v).value],
    ['gradient', () => gradient(x), (v: number) => trueChain(v).slope],
  ] as const) {
    const found = await call();
    await device.synchronize();
    const peakSizes = device.memory().peakBytes / x.bytes;
    const numbers = await found.toTypedArray();
    found.dispose();
    const places = evenlySpread(elements, CHECKED);
    const error = relativeError(
      places.map((k) => numbers[k]),
      places.map((k) => truth(data[k] ?? NaN)),
    );
    const us = await timeOfCalls(device, 1, async () => (await call()).dispose());
    rows.push({ operation: 'chain', library: 'mercer', way, n: elements, us, error, peakSizes });
  }
  return rows;
}

function chain(x: Tensor): Pending<Tensor> {
  let v = x as unknown as Pending<Tensor>;
  for (let n = 0; n < CYCLES; n++) v = v.mul(1.05).add(0.1).sin().sub(0.05).mul(1.02);
  return v;
}

function trueChain(x: number): { readonly value: number; readonly slope: number } {
  let [value, slope] = [x, 1];
  for (let n = 0; n < CYCLES; n++) {
    const inside = value * 1.05 + 0.1;
    slope *= 1.05 * Math.cos(inside) * 1.02;
    value = (Math.sin(inside) - 0.05) * 1.02;
  }
  return { value, slope };
}
