import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf } from '../../test/fake-device.mjs';
import { solverBench, type SolverBench } from '../cusolver/solver.test-support.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { RealType, Side, Triangle } from '../matrix-options.js';
import { cublas } from './cublas.js';
import type { TriangularSolve } from './triangular.js';

let bench: SolverBench;
beforeAll(async () => {
  bench = await solverBench();
  await cublas.prepare(bench.stream);
});

const [rows, columns, leadingA, leadingB] = [3, 2, 4, 5];

/**
 * A triangular matrix of this order, columns `leadingA` apart. What must not be read is NaN: the other
 * triangle, what lies between the columns, and the diagonal if it counts as ones.
 */
function triangular(order: number, uplo: Triangle, unitDiagonal: boolean): Float64Array {
  const a = new Float64Array(leadingA * order).fill(NaN);
  for (let j = 0; j < order; j++)
    for (let i = 0; i < order; i++) {
      if (i === j ? unitDiagonal : i > j !== (uplo === 'lower')) continue;
      a[i + j * leadingA] = i === j ? 2 + i : (i + 2 * j + 1) / 4;
    }
  return a;
}

/** op(a) x or x op(a), of rows x columns, with columns `leadingB` apart. */
function multiply(solve: TriangularSolve, a: Float64Array, x: Float64Array): number[] {
  const order = solve.side === 'left' ? rows : columns;
  const element = (i: number, j: number): number => {
    const [row, column] = solve.transpose === true ? [j, i] : [i, j];
    if (row === column && solve.unitDiagonal === true) return 1;
    const stored = row === column || row > column === (solve.uplo === 'lower');
    return stored ? (a[row + column * leadingA] ?? NaN) : 0;
  };
  const at = (i: number, j: number): number => x[i + j * leadingB] ?? NaN;
  return Array.from({ length: rows * columns }, (_, index) => {
    const [i, j] = [index % rows, Math.floor(index / rows)];
    let sum = 0;
    for (let k = 0; k < order; k++)
      sum += solve.side === 'left' ? element(i, k) * at(k, j) : at(i, k) * element(k, j);
    return sum;
  });
}

const rightHandSide = (): Float64Array =>
  Float64Array.from({ length: leadingB * columns }, (_, i) => (i % leadingB < rows ? i + 1 : -7));

async function put(dtype: RealType, data: Float64Array): Promise<DeviceBuffer> {
  return bench.upload(dtype === 'float64' ? data : Float32Array.from(data));
}

async function get(dtype: RealType, buffer: DeviceBuffer): Promise<Float64Array> {
  const out =
    dtype === 'float64' ? new Float64Array(buffer.bytes / 8) : new Float32Array(buffer.bytes / 4);
  await bench.stream.copyToHost(out, buffer);
  return Float64Array.from(out);
}

/** alpha b without what lies between the columns, which a solve leaves alone. */
function expectSolution(solve: TriangularSolve, a: Float64Array, x: Float64Array): void {
  const digits = solve.dtype === 'float64' ? 12 : 4;
  const b = rightHandSide();
  const product = multiply(solve, a, x);
  for (const [index, value] of product.entries()) {
    const there = (index % rows) + Math.floor(index / rows) * leadingB;
    expect(value).toBeCloseTo((solve.alpha ?? 1) * (b[there] ?? NaN), digits);
  }
  expect([...x.filter((_, i) => i % leadingB >= rows)]).toEqual(Array(2 * columns).fill(-7));
}

const cases = (['float64', 'float32'] as const).flatMap((dtype) =>
  (['left', 'right'] as const).flatMap((side: Side) =>
    (['lower', 'upper'] as const).flatMap((uplo: Triangle) =>
      [false, true].flatMap((transpose) =>
        [false, true].map((unitDiagonal) => ({ dtype, side, uplo, transpose, unitDiagonal })),
      ),
    ),
  ),
);

describe('trsm', () => {
  test.each(cases)(
    '$dtype from the $side with the $uplo triangle, transposed: $transpose, unit diagonal: $unitDiagonal',
    async (options) => {
      const solve = { ...options, rows, columns, alpha: 1.5 };
      const a = triangular(solve.side === 'left' ? rows : columns, solve.uplo, solve.unitDiagonal);
      const matrix = { buffer: await put(solve.dtype, a), leadingDimension: leadingA };
      const right = { buffer: await put(solve.dtype, rightHandSide()), leadingDimension: leadingB };
      cublas.trsm(bench.stream, { ...solve, a: matrix, b: right });
      expectSolution(solve, a, await get(solve.dtype, right.buffer));
    },
  );

  test('takes 64-bit dimensions, parts of buffers and a workspace of the caller', async () => {
    const { stream, device, upload, doubles } = bench;
    const a = { buffer: await upload(Float64Array.of(9, 2, 4)), leadingDimension: 2 ** 33 };
    const b = { buffer: await upload(Float64Array.of(9, 9, 6)), leadingDimension: 1 };
    const workspace = { buffer: device.allocate(512, stream), byteOffset: 256 };
    const one = { dtype: 'float64', side: 'left', uplo: 'lower', rows: 1, columns: 1 } as const;
    const lines = await callsOf(() => {
      const at = { a: { ...a, byteOffset: 8 }, b: { ...b, byteOffset: 16 } };
      cublas.trsm(stream, { ...one, ...at, workspace });
      cublas.trsm(stream, { ...one, ...at });
    });
    expect(await doubles(b.buffer)).toEqual([9, 9, 1.5]);
    expect(lines).toEqual([
      'blasSetWorkspace 256',
      `dtrsm_64 0 0 0 0 1 1 1 ${2 ** 33} 1 256`,
      `blasSetWorkspace ${2 ** 25}`,
      `dtrsm_64 0 0 0 0 1 1 1 ${2 ** 33} 1 ${2 ** 25}`,
    ]);
  });

  test('counts as a launch in flight; of nothing calls nothing', async () => {
    const { stream, upload } = bench;
    const a = { buffer: await upload(Float64Array.of(4)), leadingDimension: 1 };
    const one = { dtype: 'float64', side: 'right', uplo: 'upper', rows: 1, columns: 1 } as const;
    await stream.whenDone();
    cublas.trsm(stream, { ...one, a, b: a });
    expect(stream.inFlight).toBe(1);
    const lines = await callsOf(() => {
      cublas.trsm(stream, { ...one, rows: 0, a, b: a });
      cublas.trsm(stream, { ...one, columns: 0, a, b: a });
    });
    expect(lines).toEqual([]);
    await stream.whenInFlightBelow(1);
  });
});

describe('trsmBatched', () => {
  test.each(cases.filter(({ unitDiagonal }) => !unitDiagonal))(
    'many of $dtype from the $side with the $uplo triangle, transposed: $transpose',
    async (options) => {
      const { stream, upload } = bench;
      const solve = { ...options, rows, columns, alpha: -0.5 };
      const a = triangular(solve.side === 'left' ? rows : columns, solve.uplo, false);
      const matrix = await put(solve.dtype, a);
      const rights = [
        await put(solve.dtype, rightHandSide()),
        await put(solve.dtype, rightHandSide()),
      ];
      const pointers = await upload(BigUint64Array.of(matrix.address, matrix.address));
      const rightPointers = await upload(BigUint64Array.from(rights, ({ address }) => address));
      const lines = await callsOf(() =>
        cublas.trsmBatched(stream, {
          ...solve,
          batch: 2,
          leadingDimension: leadingA,
          rightLeadingDimension: leadingB,
          pointers: { buffer: pointers },
          rightPointers: { buffer: rightPointers },
        }),
      );
      const name = solve.dtype === 'float64' ? 'dtrsmBatched' : 'strsmBatched';
      expect(lines.filter((line) => line.startsWith(name))).toHaveLength(1);
      for (const right of rights) expectSolution(solve, a, await get(solve.dtype, right));
    },
  );

  test('of nothing calls nothing', async () => {
    const { stream, upload } = bench;
    const table = { buffer: await upload(BigUint64Array.of(0n)) };
    const none = { dtype: 'float32', side: 'left', uplo: 'lower', rows: 1, columns: 1 } as const;
    const leading = { leadingDimension: 1, rightLeadingDimension: 1 };
    const lines = await callsOf(() => {
      const batch = { ...none, ...leading, pointers: table, rightPointers: table };
      cublas.trsmBatched(stream, { ...batch, batch: 0 });
      cublas.trsmBatched(stream, { ...batch, batch: 1, columns: 0 });
    });
    expect(lines).toEqual([]);
  });
});
