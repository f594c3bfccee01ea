import { describe, expect, test } from 'vitest';
import { cuda } from '../cuda.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { DeviceRegion } from '../device-region.js';
import type { RealType } from '../matrix-options.js';
import { cublas } from './cublas.js';
import type { TriangularSolve } from './triangular.js';

const available = cuda.isAvailable();
const usable = available && cublas.isAvailable();

if (!available) {
  test.skip('GPU tests: no CUDA device', () => undefined);
} else if (!usable) {
  // The library is optional, so a host without it has nothing to show but this.
  test('without cuBLAS the report says what to do', () => {
    expect(cublas.report().remedy).toContain('nvidia-cublas');
  });
}

/** Columns after columns. */
type Dense = Float64Array;

let seed = 4711;
function random(): number {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed / 0x40000000 - 1;
}

const dense = (length: number): Dense => Float64Array.from({ length }, random);

/** Well conditioned, all of it filled: the triangle that is not used would spoil every result. */
function wellConditioned(order: number): Dense {
  const a = dense(order * order).map((x) => x / order);
  for (let i = 0; i < order; i++) a[i + i * order] = 1.5 + random() / 4;
  return a;
}

/** op of the triangle of `a` that the solve uses, of order x order. */
function triangleOf(solve: TriangularSolve, a: Dense, order: number): Dense {
  const t = new Float64Array(order * order);
  for (let j = 0; j < order; j++)
    for (let i = 0; i < order; i++) {
      const stored = i === j || i > j === (solve.uplo === 'lower');
      const value = i === j && solve.unitDiagonal === true ? 1 : (a[i + j * order] ?? NaN);
      if (stored) t[solve.transpose === true ? j + i * order : i + j * order] = value;
    }
  return t;
}

/** a b for a of rows x inner. */
function multiply(a: Dense, b: Dense, rows: number, inner: number): Dense {
  const columns = b.length / inner;
  const out = new Float64Array(rows * columns);
  for (let j = 0; j < columns; j++)
    for (let l = 0; l < inner; l++) {
      const factor = b[l + j * inner] ?? NaN;
      for (let i = 0; i < rows; i++)
        out[i + j * rows] = (out[i + j * rows] ?? 0) + (a[i + l * rows] ?? NaN) * factor;
    }
  return out;
}

const transposed = (a: Dense, n: number): Dense =>
  a.map((_, index) => a[Math.floor(index / n) + (index % n) * n] ?? NaN);

/** Largest |product - alpha b|. */
const residual = (product: Dense, b: Dense, alpha: number): number =>
  product.reduce((most, x, i) => Math.max(most, Math.abs(x - alpha * (b[i] ?? NaN))), 0);

const types: readonly [RealType, number][] = [
  ['float64', 2 ** -52],
  ['float32', 2 ** -23],
];
const flags = [false, true];
const variants = (['left', 'right'] as const).flatMap((side) =>
  (['lower', 'upper'] as const).flatMap((uplo) =>
    flags.flatMap((transpose) =>
      flags.map((unitDiagonal) => ({ side, uplo, transpose, unitDiagonal })),
    ),
  ),
);

describe.each(usable ? types : [])('cuBLAS in %s', (dtype, eps) => {
  const device = cuda.device(0);
  const stream = device.defaultStream;
  const bytes = dtype === 'float64' ? 8 : 4;
  const rounded = (a: Dense): Dense =>
    dtype === 'float64' ? a : Float64Array.from(Float32Array.from(a));
  const write = (buffer: DeviceBuffer, data: Dense): Promise<void> =>
    stream.copyToDevice(buffer, 0, dtype === 'float64' ? data : Float32Array.from(data));
  const put = async (data: Dense): Promise<DeviceBuffer> => {
    const buffer = device.allocate(data.length * bytes, stream);
    await write(buffer, data);
    return buffer;
  };
  const get = async (buffer: DeviceBuffer): Promise<Dense> => {
    const out =
      dtype === 'float64' ? new Float64Array(buffer.bytes / 8) : new Float32Array(buffer.bytes / 4);
    await stream.copyToHost(out, buffer);
    return Float64Array.from(out);
  };
  const ints = async ({ buffer }: DeviceRegion): Promise<number[]> => {
    const out = new Int32Array(buffer.bytes / 4);
    await stream.copyToHost(out, buffer);
    return [...out];
  };
  /** Addresses of `count` matrices of this many elements, one after another. */
  const table = async (from: DeviceBuffer, count: number, elements: number) => {
    const addresses = BigUint64Array.from(
      { length: count },
      (_, i) => from.address + BigInt(i * elements * bytes),
    );
    const buffer = device.allocate(addresses.byteLength, stream);
    await stream.copyToDevice(buffer, 0, addresses);
    return { buffer };
  };
  const check = (solve: TriangularSolve, a: Dense, b: Dense, x: Dense): void => {
    const { side, rows, columns, alpha = 1 } = solve;
    const order = side === 'left' ? rows : columns;
    const t = triangleOf(solve, a, order);
    const product = side === 'left' ? multiply(t, x, rows, rows) : multiply(x, t, rows, columns);
    expect(residual(product, b, alpha)).toBeLessThan(20 * order * eps);
  };

  test.each(variants)(
    'trsm: $side, $uplo, transposed: $transpose, unit diagonal: $unitDiagonal',
    async (variant) => {
      const solve = { ...variant, dtype, rows: 130, columns: 71, alpha: 0.75 };
      const order = solve.side === 'left' ? solve.rows : solve.columns;
      const a = rounded(wellConditioned(order));
      const b = rounded(dense(solve.rows * solve.columns));
      const matrix = { buffer: await put(a), leadingDimension: order };
      const right = { buffer: await put(b), leadingDimension: solve.rows };
      cublas.trsm(stream, { ...solve, a: matrix, b: right });
      check(solve, a, b, await get(right.buffer));
    },
  );

  test('a larger one, with a workspace of the caller and without', async () => {
    const solve = { dtype, side: 'left', uplo: 'lower', rows: 1100, columns: 40 } as const;
    const a = rounded(wellConditioned(solve.rows));
    const b = rounded(dense(solve.rows * solve.columns));
    const matrix = { buffer: await put(a), leadingDimension: solve.rows };
    const workspace = { buffer: device.allocate(1 << 20, stream) };
    for (const given of [{ workspace }, {}]) {
      const right = { buffer: await put(b), leadingDimension: solve.rows };
      cublas.trsm(stream, { ...solve, ...given, a: matrix, b: right });
      check(solve, a, b, await get(right.buffer));
    }
  });

  test.each(variants.filter(({ unitDiagonal }) => !unitDiagonal))(
    'trsmBatched: $side, $uplo, transposed: $transpose',
    async (variant) => {
      const [batch, rows, columns] = [60, 20, 9];
      const solve = { ...variant, dtype, rows, columns, alpha: -2 };
      const order = solve.side === 'left' ? rows : columns;
      const a = Array.from({ length: batch }, () => rounded(wellConditioned(order)));
      const b = rounded(dense(rows * columns * batch));
      const matrices = await put(Float64Array.from(a.flatMap((matrix) => [...matrix])));
      const rights = await put(b);
      cublas.trsmBatched(stream, {
        ...solve,
        batch,
        leadingDimension: order,
        rightLeadingDimension: rows,
        pointers: await table(matrices, batch, order * order),
        rightPointers: await table(rights, batch, rows * columns),
      });
      const x = await get(rights);
      for (const [i, matrix] of a.entries()) {
        const part = [i * rows * columns, (i + 1) * rows * columns] as const;
        check(solve, matrix, b.subarray(...part), x.subarray(...part));
      }
    },
  );

  /** Matrices whose largest elements lie off the diagonal, with two right-hand sides each. */
  const luProblem = async (n: number, batch: number) => {
    const a = Array.from({ length: batch }, () => {
      const matrix = wellConditioned(n);
      return rounded(
        matrix.map((_, i) => matrix[(((i % n) + 1) % n) + Math.floor(i / n) * n] ?? NaN),
      );
    });
    const b = rounded(dense(n * 2 * batch));
    const all = Float64Array.from(a.flatMap((matrix) => [...matrix]));
    const [matrices, rights] = [await put(all), await put(b)];
    const pivots = { buffer: device.allocate(batch * n * 4, stream) };
    const infos = { buffer: device.allocate(batch * 4, stream) };
    const pointers = await table(matrices, batch, n * n);
    const shape = { dtype, n, pointers, leadingDimension: n, batch, pivots } as const;
    const rightPointers = await table(rights, batch, n * 2);
    const right = { columns: 2, rightPointers, rightLeadingDimension: n } as const;
    return { a, b, all, matrices, rights, infos, shape, right };
  };
  const checkLu = (a: Dense, b: Dense, x: Dense, n: number, transpose: boolean): void => {
    const product = multiply(transpose ? transposed(a, n) : a, x, n, n);
    expect(residual(product, b, 1)).toBeLessThan(50 * n * eps);
  };

  test.each([
    [7, 100, false],
    [7, 100, true],
    [48, 30, false],
    [150, 4, false],
    [150, 4, true],
  ])('LU of order %i, %i times, transposed: %s', async (n, batch, transpose) => {
    const { a, b, rights, infos, shape, right } = await luProblem(n, batch);
    cublas.getrfBatched(stream, { ...shape, infos });
    cublas.getrsBatched(stream, { ...shape, ...right, transpose });
    expect(await ints(infos)).toEqual(Array(batch).fill(0));
    const order = await ints(shape.pivots);
    expect(Math.min(...order)).toBeGreaterThan(0);
    expect(order[0]).toBe(n); // the first row had moved to the end
    const x = await get(rights);
    for (const [i, matrix] of a.entries()) {
      const part = [i * n * 2, (i + 1) * n * 2] as const;
      checkLu(matrix, b.subarray(...part), x.subarray(...part), n, transpose);
    }
  });

  test('LU without pivots, and the info of a singular matrix', async () => {
    const n = 12;
    const a = rounded(wellConditioned(n));
    const singular = a.map((x, i) => (Math.floor(i / n) === 4 ? 0 : x));
    const b = rounded(dense(n));
    const matrices = await put(Float64Array.of(...a, ...singular));
    const rights = await put(b);
    const infos = { buffer: device.allocate(8, stream) };
    const pointers = await table(matrices, 2, n * n);
    const shape = { dtype, n, pointers, leadingDimension: n } as const;
    cublas.getrfBatched(stream, { ...shape, batch: 2, infos });
    expect(await ints(infos)).toEqual([0, 5]);
    const rightPointers = await table(rights, 1, n);
    const right = { columns: 1, rightPointers, rightLeadingDimension: n } as const;
    cublas.getrsBatched(stream, { ...shape, ...right, batch: 1 });
    checkLu(a, b, await get(rights), n, false);
  });

  test('all calls in one captured graph give the same bits each time', async () => {
    const own = device.createStream();
    await cublas.prepare(own);
    const { all, b, matrices, rights, infos, shape, right } = await luProblem(40, 8);
    const solve = { dtype, side: 'left', uplo: 'upper', rows: 300, columns: 16 } as const;
    const triangle = await put(rounded(wellConditioned(300)));
    const c = rounded(dense(300 * 16));
    const target = { buffer: await put(c), leadingDimension: 300 };
    const many = { pointers: shape.pointers, rightPointers: right.rightPointers } as const;
    await stream.whenDone();
    const enqueue = (): void => {
      cublas.getrfBatched(own, { ...shape, infos });
      cublas.getrsBatched(own, { ...shape, ...right });
      cublas.trsmBatched(own, {
        ...solve,
        ...many,
        rows: 40,
        columns: 2,
        batch: 8,
        leadingDimension: 40,
        rightLeadingDimension: 40,
      });
      cublas.trsm(own, { ...solve, a: { buffer: triangle, leadingDimension: 300 }, b: target });
    };
    const results = async (): Promise<Dense[]> => {
      await own.whenDone();
      const found = [await get(rights), await get(target.buffer)];
      for (const [buffer, data] of [
        [matrices, all],
        [rights, b],
        [target.buffer, c],
      ] as const)
        await write(buffer, data);
      await stream.whenDone();
      return found;
    };
    enqueue();
    const expected = await results();
    expect(expected.every((x) => x.every(Number.isFinite))).toBe(true);
    own.beginCapture();
    enqueue();
    const graph = own.endCapture();
    const exec = graph.instantiate();
    graph.dispose();
    for (let run = 0; run < 3; run++) {
      exec.launch(own);
      expect(await results()).toEqual(expected);
    }
    exec.dispose();
    own.dispose();
  });
});
