import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf } from '../../test/fake-device.mjs';
import { solverBench, type SolverBench } from '../cusolver/solver.test-support.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { RealType } from '../matrix-options.js';
import { cublas } from './cublas.js';

let bench: SolverBench;
beforeAll(async () => {
  bench = await solverBench();
  await cublas.prepare(bench.stream);
});

const [n, columns, leading] = [3, 2, 4];

/** Columns `leading` apart. The first pivot of each is not on the diagonal. */
const matrices = [
  [0, 2, 4, -9, 1, 1, -1, -9, 3, 5, 2, -9],
  [1, -3, 2, -9, 2, 1, 1, -9, 0, 4, 5, -9],
];
const rights = [
  [1, 2, 3, 4, 5, 6],
  [-1, 0, 2, 7, 1, -4],
];

async function put(dtype: RealType, data: readonly number[]): Promise<DeviceBuffer> {
  return bench.upload(dtype === 'float64' ? Float64Array.from(data) : Float32Array.from(data));
}

async function get(dtype: RealType, buffer: DeviceBuffer): Promise<number[]> {
  const out =
    dtype === 'float64' ? new Float64Array(buffer.bytes / 8) : new Float32Array(buffer.bytes / 4);
  await bench.stream.copyToHost(out, buffer);
  return [...out];
}

async function ints(buffer: DeviceBuffer): Promise<number[]> {
  const out = new Int32Array(buffer.bytes / 4);
  await bench.stream.copyToHost(out, buffer);
  return [...out];
}

/** op(a) x of n x columns. */
function multiply(a: readonly number[], x: readonly number[], transpose: boolean): number[] {
  return Array.from({ length: n * columns }, (_, index) => {
    const [i, j] = [index % n, Math.floor(index / n)];
    let sum = 0;
    for (let k = 0; k < n; k++)
      sum += (a[transpose ? k + i * leading : i + k * leading] ?? NaN) * (x[k + j * n] ?? NaN);
    return sum;
  });
}

/** Matrices and right-hand sides on the device, as a batch of two. */
async function operands(dtype: RealType, from: readonly (readonly number[])[] = matrices) {
  const { device, stream, upload } = bench;
  const a = [await put(dtype, from[0] ?? []), await put(dtype, from[1] ?? [])];
  const b = [await put(dtype, rights[0] ?? []), await put(dtype, rights[1] ?? [])];
  const table = async (buffers: readonly DeviceBuffer[]): Promise<{ buffer: DeviceBuffer }> => ({
    buffer: await upload(BigUint64Array.from(buffers, ({ address }) => address)),
  });
  const pivots = { buffer: device.allocate(2 * n * 4, stream) };
  const infos = { buffer: device.allocate(8, stream) };
  const batch = {
    dtype,
    n,
    pointers: await table(a),
    leadingDimension: leading,
    batch: 2,
  } as const;
  const right = { columns, rightPointers: await table(b), rightLeadingDimension: n } as const;
  return { a, b, pivots, infos, batch, right };
}

describe('getrfBatched and getrsBatched', () => {
  test.each([
    ['float64', false],
    ['float64', true],
    ['float32', false],
    ['float32', true],
  ] as const)('%s, transposed: %s', async (dtype, transpose) => {
    const { stream } = bench;
    const { b, pivots, infos, batch, right } = await operands(dtype);
    const lines = await callsOf(() => {
      cublas.getrfBatched(stream, { ...batch, pivots, infos });
      cublas.getrsBatched(stream, { ...batch, ...right, pivots, transpose });
    });
    const letter = dtype === 'float64' ? 'd' : 's';
    expect(lines.filter((line) => line.includes('Batched'))).toEqual([
      `${letter}getrfBatched 3 4 pivots 2`,
      `${letter}getrsBatched ${transpose ? '1' : '0'} 3 2 4 pivots 3 2`,
    ]);
    expect(await ints(infos.buffer)).toEqual([0, 0]);
    const order = await ints(pivots.buffer);
    expect([order[0], order[3]]).toEqual([3, 2]); // counted from 1
    for (const [i, buffer] of b.entries()) {
      const product = multiply(matrices[i] ?? [], await get(dtype, buffer), transpose);
      for (const [index, value] of product.entries())
        expect(value).toBeCloseTo(rights[i]?.[index] ?? NaN, dtype === 'float64' ? 12 : 4);
    }
  });

  test('without pivots: the factors multiply to the matrix itself', async () => {
    const { stream } = bench;
    const dominant = matrices.map((matrix) => matrix.map((x, i) => (i % 5 === 0 ? x + 20 : x)));
    const { a, b, infos, batch, right } = await operands('float64', dominant);
    cublas.getrfBatched(stream, { ...batch, infos });
    cublas.getrsBatched(stream, { ...batch, ...right });
    expect(await ints(infos.buffer)).toEqual([0, 0]);
    const factors = await get('float64', a[0] as DeviceBuffer);
    expect(factors[0]).toBe(20);
    expect(factors[1]).toBeCloseTo((dominant[0]?.[1] ?? NaN) / 20, 14);
    for (const [i, buffer] of b.entries()) {
      const product = multiply(dominant[i] ?? [], await get('float64', buffer), false);
      for (const [index, value] of product.entries())
        expect(value).toBeCloseTo(rights[i]?.[index] ?? NaN, 12);
    }
  });

  test('a singular matrix is no error: its info says which pivot is 0', async () => {
    const singular = [1, 2, 3, -9, 2, 4, 6, -9, 1, 0, 0, -9];
    const { infos, pivots, batch } = await operands('float64', [matrices[0] ?? [], singular]);
    cublas.getrfBatched(bench.stream, { ...batch, pivots, infos });
    expect(await ints(infos.buffer)).toEqual([0, 2]);
  });

  test('of nothing calls nothing', async () => {
    const { infos, batch, right } = await operands('float32');
    const lines = await callsOf(() => {
      cublas.getrfBatched(bench.stream, { ...batch, batch: 0, infos });
      cublas.getrsBatched(bench.stream, { ...batch, ...right, batch: 0 });
      cublas.getrsBatched(bench.stream, { ...batch, ...right, columns: 0 });
    });
    expect(lines).toEqual([]);
  });
});
