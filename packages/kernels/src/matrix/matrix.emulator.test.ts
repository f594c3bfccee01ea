import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../emitted-kernel.js';
import { runCudaKernel, type Memory } from '../testing/cuda-emulator.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { emitAddCorrections } from './add.js';
import { emitDeterminants, emitDiagonalMeans, emitDiagonalZeros } from './diagonals.js';
import { emitIdentityMatrices } from './element-kernel.js';
import type { MatrixDType } from './matrix-kernel.js';
import { emitKron } from './kron.js';
import { emitMergeCodes } from './merge-codes.js';
import { emitConditions, emitOneNorms } from './norms.js';
import { emitPackMatrices, emitUnpackMatrices } from './pack.js';
import { emitSmallSolve, type SmallSolveMethod } from './small-solve.js';
import { emitEigenPowers, emitScaleMatrices, emitSingularReciprocals } from './spectral.js';

type Floats = Float32Array | Float64Array;

const DTYPES = ['float32', 'float64'] as const;
const UNIT = { float32: 2 ** -24, float64: 2 ** -53 } as const;

const floats = (dtype: MatrixDType, size: number, fill: (i: number) => number): Floats =>
  dtype === 'float32'
    ? Float32Array.from({ length: size }, (_, i) => fill(i))
    : Float64Array.from({ length: size }, (_, i) => fill(i));

/** Pointers by the names of the parameters; what is not named is address 0. */
function run(
  kernel: CudaKernel,
  scalars: Readonly<Record<string, number>>,
  pointers: Readonly<Record<string, Memory>>,
): void {
  const names = kernel.params.filter(({ kind }) => kind === 'pointer').map(({ name }) => name);
  expect(Object.keys(pointers).filter((name) => !names.includes(name))).toEqual([]);
  runCudaKernel(kernel, { scalars, pointers: names.map((name) => pointers[name] ?? null) });
}

/** A row-major batch of two axes, [2, count / 2] matrices, with gaps. */
const layout = (name: string, rows: number, columns: number, count: number, turned: boolean) => ({
  ...Object.fromEntries(
    [0, 1, 2, 3].flatMap((axis) => [
      [`${name}Batch${axis}`, 999],
      [`batch${axis}`, 1],
    ]),
  ),
  [`${name}Row`]: turned ? 1 : columns + 1,
  [`${name}Column`]: turned ? rows + 1 : 1,
  [`${name}Batch4`]: ((rows + 1) * (columns + 1) * count) / 2,
  [`${name}Batch5`]: (rows + 1) * (columns + 1),
  batch4: 2,
  batch5: count / 2,
});

const at = (
  name: string,
  strides: Readonly<Record<string, number>>,
  z: number,
  row: number,
  column: number,
): number => {
  const inner = strides['batch5']!;
  return (
    Math.floor(z / inner) * strides[`${name}Batch4`]! +
    (z % inner) * strides[`${name}Batch5`]! +
    row * strides[`${name}Row`]! +
    column * strides[`${name}Column`]!
  );
};

describe.each(DTYPES)('matrices of %s', (dtype) => {
  test.each([
    [5, 7, 0, false],
    [40, 33, 0, true],
    [35, 35, 1, false],
    [35, 35, 2, true],
  ])('%i x %i are packed and unpacked, part %i, turned %s', (rows, columns, part, turned) => {
    const count = 4;
    const from = layout('from', rows, columns, count, turned);
    const source = floats(dtype, (rows + 1) * (columns + 1) * count, () => random() - 0.5);
    const inside = (i: number, j: number): boolean => part === 0 || (part === 1 ? i >= j : i <= j);
    source[at('from', from, 2, 3, 3)] = Infinity;
    if (part !== 0) source[at('from', from, 1, part === 1 ? 0 : 4, part === 1 ? 4 : 0)] = NaN;
    const packed = floats(dtype, rows * columns * count, () => -7);
    const infos = new Int32Array(count);
    const only = Int32Array.of(1, 1, 1, 0);
    const shifts = floats(dtype, count, (z) => z);
    const scalars = { rows, columns, count, part, mirrored: 0, ridge: 2, ...from };
    run(emitPackMatrices(dtype, dtype), scalars, { from: source, to: packed, infos, only, shifts });
    expect([...infos]).toEqual([0, 0, -1, 0]);
    for (let z = 0; z < count; z++) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
          const value = inside(i, j) ? source[at('from', from, z, i, j)]! : 0;
          const expected = z === 3 ? -7 : i === j ? value + (2 + z) : value;
          const got = packed[(z * columns + j) * rows + i]!;
          expect(Math.abs(got - expected) <= 4 * UNIT[dtype] || got === expected).toBe(true);
        }
      }
    }
    const to = layout('to', rows, columns, count, !turned);
    const result = floats(dtype, source.length, () => -9);
    const codes = Int32Array.of(0, 5, 4, 0);
    run(emitMergeCodes(), { count, failure: -2 }, { infos, codes });
    expect([...infos]).toEqual([0, -2, -1, 0]);
    const again = {
      rows,
      columns,
      count,
      part,
      lead: rows,
      step: rows * columns,
      ...to,
    };
    run(emitUnpackMatrices(dtype, dtype), again, { from: packed, to: result, infos });
    let written = 0;
    for (let z = 0; z < count; z++) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
          const got = result[at('to', to, z, i, j)]!;
          const plain = inside(i, j) ? packed[(z * columns + j) * rows + i] : 0;
          expect(got).toBe(z === 1 || z === 2 ? NaN : plain);
          written++;
        }
      }
    }
    expect(result.filter((x) => x === -9)).toHaveLength(result.length - written);
  });

  test('of one triangle are packed with its mirror image', () => {
    const from = layout('from', 3, 3, 2, false);
    const source = floats(dtype, 32, (i) => i);
    const packed = floats(dtype, 18, () => -7);
    const scalars = { rows: 3, columns: 3, count: 2, part: 1, mirrored: 1, ridge: 0, ...from };
    run(emitPackMatrices(dtype, dtype), scalars, { from: source, to: packed });
    expect([...packed.subarray(0, 9)]).toEqual([0, 4, 8, 4, 5, 9, 8, 9, 10]);
  });

  test('become the identity where they failed, or all', () => {
    const to = floats(dtype, 18, () => 5);
    run(
      emitIdentityMatrices(dtype),
      { rows: 3, columns: 3, count: 2 },
      { to, infos: Int32Array.of(0, -1) },
    );
    expect([...to]).toEqual([5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
    run(emitIdentityMatrices(dtype), { rows: 3, columns: 3, count: 2 }, { to });
    expect([...to.subarray(0, 9)]).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1]);
  });

  test('have determinants, norms and conditions', () => {
    const factors = floats(dtype, 12, (i) => [2, 9, 9, -3, 1, 9, 9, 0, NaN, 9, 9, 1][i]!);
    const pivots = BigInt64Array.of(2n, 2n, 1n, 2n, 1n, 2n);
    const [signs, logs] = [floats(dtype, 3, () => 9), floats(dtype, 3, () => 9)];
    const infos = Int32Array.of(0, 2, -1);
    const scalars = { n: 2, count: 3, lu: 1 };
    run(emitDeterminants(dtype), scalars, { factors, pivots, signs, logs, infos });
    expect([...signs]).toEqual([1, 0, NaN]);
    expect(logs[0]).toBeCloseTo(Math.log(6), 6);
    expect([...logs.subarray(1)]).toEqual([-Infinity, NaN]);
    const roots = floats(dtype, 4, (i) => [2, 0, 0, 3][i]!);
    const one = Int32Array.of(0);
    run(emitDeterminants(dtype), { n: 2, count: 1 }, { factors: roots, signs, logs, infos: one });
    expect([signs[0], logs[0]]).toEqual([1, expect.closeTo(2 * Math.log(6), 6)]);

    const n = 300;
    const matrices = floats(dtype, 2 * n * n, () => random() - 0.5);
    const norms = floats(dtype, 2, () => 0);
    run(emitOneNorms(dtype), { n, count: 2 }, { matrices, norms });
    [0, 1].forEach((z) => {
      const sums = Array.from({ length: n }, (_, j) =>
        [...matrices.subarray((z * n + j) * n, (z * n + j + 1) * n)].reduce(
          (sum, x) => sum + Math.abs(x),
          0,
        ),
      );
      expect(norms[z]! / Math.max(...sums)).toBeCloseTo(1, 5);
    });
    const conditions = floats(dtype, 3, () => 9);
    const inverseNorms = floats(dtype, 3, () => 2);
    const inputs = { norms: floats(dtype, 3, () => 3), inverseNorms, conditions, infos };
    run(emitConditions(dtype), scalars, inputs);
    expect([...conditions]).toEqual([6, Infinity, NaN]);
    infos.set([0, 2, 0]);
    run(emitConditions(dtype), { ...scalars, lu: 0 }, inputs);
    expect([...conditions]).toEqual([6, NaN, 6]);
  });

  test('are scaled, and spectra raised and inverted', () => {
    const from = floats(dtype, 12, (i) => i);
    const to = floats(dtype, 12, () => 9);
    const factors = floats(dtype, 6, (i) => i + 1);
    run(
      emitScaleMatrices(dtype),
      { rows: 2, columns: 3, byRows: 0, count: 2 },
      { from, factors, to },
    );
    expect([...to]).toEqual([0, 1, 4, 6, 12, 15, 24, 28, 40, 45, 60, 66]);
    run(
      emitScaleMatrices(dtype),
      { rows: 2, columns: 3, byRows: 1, count: 2 },
      { from, factors, to },
    );
    expect([...to]).toEqual([0, 2, 2, 6, 4, 10, 18, 28, 24, 36, 30, 44]);

    const values = floats(dtype, 8, (i) => [-1e-20, 1, 4, 9, -1, 1, 2, 3][i]!);
    const errors = floats(dtype, 2, () => 9);
    const infos = new Int32Array(2);
    const raise = { n: 4, power: 0.5, ridge: 0, epsilon: 2 * UNIT[dtype], count: 2 };
    run(emitEigenPowers(dtype), raise, { values, errors, infos });
    expect([...infos]).toEqual([0, 1]);
    expect([...values.subarray(0, 4)]).toEqual([0, 1, 2, 3]);
    // n eps (1 + 9 * 0.5 / 3): max|f'| = 1/2 at 1.
    expect(errors[0]! / (4 * 2 * UNIT[dtype] * 2.5)).toBeCloseTo(1, 5);
    expect(errors[1]).toBeNaN();

    const singular = floats(dtype, 6, (i) => [4, 2, 1e-9, 1, 1, 1][i]!);
    const reciprocals = floats(dtype, 6, () => 9);
    const ranks = new Int32Array(2);
    const scalars = { n: 3, tolerance: 1e-6, count: 2 };
    const buffers = { values: singular, reciprocals, ranks, infos: Int32Array.of(0, -1) };
    run(emitSingularReciprocals(dtype), scalars, buffers);
    expect([...ranks]).toEqual([2, -1]);
    expect([...reciprocals]).toEqual([0.25, 0.5, 0, 1, 1, 1]);
  });

  test('have Kronecker products, and take corrections', () => {
    const [p, q, r, s, count] = [3, 5, 7, 4, 4];
    const strides = {
      ...layout('a', p, q, count, true),
      ...layout('b', r, s, count, false),
      ...layout('c', p * r, q * s, count, true),
    };
    const a = floats(dtype, (p + 1) * (q + 1) * count, (i) => i % 13);
    const b = floats(dtype, (r + 1) * (s + 1) * count, (i) => i % 11);
    const c = floats(dtype, (p * r + 1) * (q * s + 1) * count, () => -1);
    run(emitKron(dtype), { p, q, r, s, count, ...strides }, { a, b, c });
    for (let z = 0; z < count; z++) {
      for (let row = 0; row < p * r; row++) {
        for (let column = 0; column < q * s; column++) {
          const left = a[at('a', strides, z, Math.floor(row / r), Math.floor(column / s))]!;
          const right = b[at('b', strides, z, row % r, column % s)]!;
          expect(c[at('c', strides, z, row, column)]).toBe(left * right);
        }
      }
    }
    const to = new Float64Array(300).fill(1);
    const from = Float32Array.from({ length: 300 }, (_, i) => i / 8);
    run(emitAddCorrections(), { elements: 300 }, { from, to });
    expect([...to]).toEqual([...from].map((x) => x + 1));
  });

  test('have diagonals', () => {
    const matrices = floats(
      dtype,
      18,
      (i) => [1, 5, 5, 5, 0, 5, 5, 5, 0, 0, 5, 5, 5, 0, 5, 5, 5, 0][i]!,
    );
    const codes = new Int32Array(2);
    const means = new Float64Array(2);
    run(emitDiagonalZeros(dtype), { n: 3, count: 2 }, { matrices, codes });
    run(emitDiagonalMeans(dtype), { n: 3, count: 2 }, { matrices, means });
    expect([...codes]).toEqual([2, 1]);
    expect([...means]).toEqual([expect.closeTo(1 / 3, 6), 1]);
  });
});

const solves = (['cholesky', 'lu'] as const).flatMap((method) =>
  DTYPES.flatMap((dtype) =>
    ([1, 2, 7, 33, 40] as const).map((n, i) => [method, dtype, n, i % 2 === 0] as const),
  ),
);

/** A batch whose entries are good, singular or indefinite, not finite, and good again. */
function systems(method: SmallSolveMethod, dtype: MatrixDType, n: number) {
  const count = 4;
  const columns = 3;
  const a = { ...layout('a', n, n, count, false) };
  const b = { ...layout('b', n, columns, count, true) };
  const A = floats(dtype, (n + 1) * (n + 1) * count, () => random() - 0.5);
  const B = floats(dtype, (n + 1) * (columns + 1) * count, () => random() - 0.5);
  for (let z = 0; z < count; z++) {
    for (let i = 0; i < n; i++) {
      if (method === 'cholesky') {
        for (let j = 0; j < i; j++) A[at('a', a, z, i, j)] = A[at('a', a, z, j, i)]!;
        A[at('a', a, z, i, i)] = n + 1;
      }
      if (z === 1) A[at('a', a, z, i, n - 1)] = 0;
      if (z === 1 && method === 'cholesky') A[at('a', a, z, n - 1, i)] = 0;
    }
  }
  A[at('a', a, 2, n - 1, 0)] = NaN;
  if (method === 'cholesky') A[at('a', a, 2, 0, n - 1)] = NaN;
  return { count, columns, a, b, A, B };
}

describe('small systems', () => {
  test.each(solves)('by %s in %s of order %i, upper %s', (method, dtype, n, upper) => {
    const { count, columns, a, b, A, B } = systems(method, dtype, n);
    const x = layout('x', n, columns, count, false);
    const factor = layout('factor', n, n, count, true);
    const X = floats(dtype, B.length, () => -9);
    const F = floats(dtype, A.length, () => -9);
    const infos = new Int32Array(count).fill(77);
    const scalars = { n, columns, upper: Number(upper), count, ...a, ...b, ...x, ...factor };
    run(emitSmallSolve(method, dtype), scalars, { a: A, b: B, x: X, factor: F, infos });
    expect([...infos]).toEqual([0, n, -1, 0]);
    for (const z of [0, 3]) {
      for (let c = 0; c < columns; c++) {
        let [worst, size] = [0, 0];
        for (let i = 0; i < n; i++) {
          let sum = -B[at('b', b, z, i, c)]!;
          for (let j = 0; j < n; j++) {
            sum += A[at('a', a, z, i, j)]! * X[at('x', x, z, j, c)]!;
            size = Math.max(size, Math.abs(A[at('a', a, z, i, j)]! * X[at('x', x, z, j, c)]!));
          }
          worst = Math.max(worst, Math.abs(sum));
        }
        expect(worst).toBeLessThan(30 * n * UNIT[dtype] * Math.max(size, 1));
      }
      if (method === 'cholesky') {
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < n; j++) {
            let sum = 0;
            for (let k = 0; k < n; k++) {
              const [p, q] = upper
                ? [[k, i] as const, [k, j] as const]
                : [[i, k] as const, [j, k] as const];
              sum += F[at('factor', factor, z, ...p)]! * F[at('factor', factor, z, ...q)]!;
            }
            expect(Math.abs(sum - A[at('a', a, z, i, j)]!)).toBeLessThan(
              30 * n * (n + 1) * UNIT[dtype],
            );
          }
        }
      }
    }
    for (const z of [1, 2]) {
      for (let i = 0; i < n; i++) {
        expect(X[at('x', x, z, i, 0)]).toBeNaN();
        expect(F[at('factor', factor, z, i, i)]).toBeNaN();
      }
    }
  });

  test('reads one triangle for Cholesky, and writes x over b and the factor over a', () => {
    const { count, columns, a, b, A, B } = systems('cholesky', 'float64', 5);
    const [plainA, plainB] = [A.slice(), B.slice()];
    for (let z = 0; z < count; z++) A[at('a', a, z, 0, 4)] = NaN;
    const infos = new Int32Array(count);
    const same = (to: string, from: Readonly<Record<string, number>>, name: string) =>
      Object.fromEntries(
        Object.entries(from).map(([key, value]) => [key.replace(name, to), value]),
      );
    const strides = { ...a, ...b, ...same('x', b, 'b'), ...same('factor', a, 'a') };
    const scalars = {
      ...strides,
      ...layout('a', 5, 5, count, false),
      n: 5,
      columns,
      upper: 0,
      count,
    };
    run(emitSmallSolve('cholesky', 'float64'), scalars, { a: A, b: B, x: B, factor: A, infos });
    expect([...infos]).toEqual([0, 5, -1, 0]);
    for (let i = 0; i < 5; i++) {
      let sum = 0;
      for (let j = 0; j < 5; j++) sum += plainA[at('a', a, 0, i, j)]! * B[at('b', b, 0, j, 1)]!;
      expect(sum).toBeCloseTo(plainB[at('b', b, 0, i, 1)]!, 12);
    }
    expect(A[at('a', a, 0, 0, 4)]).toBe(0);
  });
});
