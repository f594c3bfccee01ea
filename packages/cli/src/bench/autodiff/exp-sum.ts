import { empty, tensor, type Device, type Tensor } from '@mercer/core';
import { asMany } from '../measuring-time.js';
import type { AutodiffRow, AutodiffSizes } from './autodiff-row.js';
import { hashedNumbers } from './hashed-numbers.js';
import { relativeError } from './relative-error.js';
import { timeOfCalls } from './time-of-calls.js';

const CALLS = 10;

/** `((z - 1) * 0.5).exp().sum()`, beside the time in which a copy moves as many bytes. */
export async function measureExpSum(
  device: Device,
  { elements }: AutodiffSizes,
): Promise<readonly AutodiffRow[]> {
  const data = hashedNumbers(elements, 2, [-1, 1]);
  using z = await tensor(data, { device });
  const call = (): PromiseLike<Tensor> => z.sub(1).mul(0.5).exp().sum();
  const truth = data.reduce((sum, one) => sum + Math.exp((one - 1) * 0.5), 0);
  const found = await call();
  const error = relativeError([await found.item()], [truth]);
  found.dispose();
  const us = await timeOfCalls(device, asMany(CALLS), async () => (await call()).dispose());
  using copy = empty(z.shape, { device });
  const copied = await timeOfCalls(device, asMany(CALLS), async () => {
    await copy.copyFrom(z);
  });
  // a copy reads and writes what the sum only reads
  const floorUs = copied.p10 / 2;
  return [
    { operation: 'expSum', library: 'mercer', way: 'value', n: elements, us, error, floorUs },
  ];
}
