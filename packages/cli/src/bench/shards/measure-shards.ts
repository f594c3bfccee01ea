import { lazyI, lazyJ, tensor, type Device, type LazyReduction, type Tensor } from '@mercer/core';
import { hashedNumbers } from '../autodiff/hashed-numbers.js';
import { evenlySpread, spreadOf, type Spread } from '../statistics.js';

/** A Gaussian sum of n points in 3-D, computed in one way. */
export interface ShardRow {
  readonly n: number;
  /** Where the points lie, and what computes. */
  readonly way: string;
  readonly devices: readonly string[];
  readonly ms: Spread;
  /** Pairs in a second. */
  readonly rate: number;
  /** The rate by that of one device with the points in its memory. */
  readonly share: number;
  /** The largest difference from float64 by the largest value, of some rows. */
  readonly error: number;
}

/** How many rows are compared with float64. */
const COMPARED = 16;
const REPEATS = 5;
const DIM = 3;

/**
 * A Gaussian sum of points in device memory, of points that stream from host memory in blocks of `maxBytes`, and, with several devices,
 * of two, four, ... of them.
 */
export async function measureShards(
  devices: readonly Device[],
  points: readonly number[],
  maxBytes: number,
  onWay: (way: string) => void,
): Promise<readonly ShardRow[]> {
  const rows: ShardRow[] = [];
  for (const n of points) rows.push(...(await waysOf(devices, n, maxBytes, onWay)));
  return rows;
}

async function waysOf(
  devices: readonly Device[],
  n: number,
  maxBytes: number,
  onWay: (way: string) => void,
): Promise<readonly ShardRow[]> {
  const [x, y] = [hashedNumbers(n * DIM, 1, [0, 1]), hashedNumbers(n * DIM, 2, [0, 1])];
  const shape = [n, DIM];
  const [device] = devices;
  if (device === undefined) throw new RangeError('there is no device to measure');
  using a = await tensor(x, { shape, device });
  using b = await tensor(y, { shape, device });
  const inMemory = gaussian(a, b);
  const host = gaussian({ data: x, shape }, { data: y, shape });
  const compared = evenlySpread(n, COMPARED);
  const truth = compared.map((row) => gaussianSum(x, row, y));
  const rows: ShardRow[] = [];
  const measure = async (
    way: string,
    used: readonly Device[],
    call: () => PromiseLike<unknown>,
  ): Promise<void> => {
    onWay(`${way}, ${n} points`);
    const times: number[] = [];
    let found: ArrayLike<number> = [];
    for (let repeat = 0; repeat <= REPEATS; repeat++) {
      await Promise.all(used.map((one) => one.synchronize()));
      const start = performance.now();
      using result = (await call()) as Tensor<'float32'>;
      await result.ready();
      // the first call compiles
      if (repeat > 0) times.push(performance.now() - start);
      found = await result.toTypedArray();
    }
    const ms = spreadOf(times);
    const rate = (n * n) / (ms.median / 1e3);
    const largest = Math.max(...truth);
    const error = Math.max(
      ...compared.map((row, at) => Math.abs((found[row] ?? NaN) - (truth[at] ?? NaN)) / largest),
    );
    const share = rate / (rows[0]?.rate ?? rate);
    rows.push({ n, way, devices: used.map(({ id }) => id), ms, rate, share, error });
  };
  await measure('in memory', [device], () => inMemory.call());
  await measure('from the host', [device], () => host.call([], { devices: [device], maxBytes }));
  for (let count = 1; count <= devices.length; count *= 2) {
    const used = devices.slice(0, count);
    await measure(`devices: ${count}`, used, () => inMemory.call([], { devices: used }));
  }
  return rows;
}

const gaussian = (i: Parameters<typeof lazyI>[0], j: Parameters<typeof lazyJ>[0]): LazyReduction =>
  lazyI(i).sqdist(lazyJ(j)).mul(-10).exp().reduction('Sum', 'j');

function gaussianSum(x: Float32Array, row: number, y: Float32Array): number {
  let sum = 0;
  for (let j = 0; j < y.length; j += DIM) {
    let far = 0;
    for (let k = 0; k < DIM; k++) far += ((x[row * DIM + k] ?? NaN) - (y[j + k] ?? NaN)) ** 2;
    sum += Math.exp(-10 * far);
  }
  return sum;
}
