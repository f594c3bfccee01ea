import { describe, expect, test } from 'vitest';
import { cuda } from '../cuda.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { RealType } from '../matrix-options.js';
import { cusolver } from './cusolver.js';

const available = cuda.isAvailable();
const usable = available && cusolver.isAvailable();

if (!available) {
  test.skip('GPU tests: no CUDA device', () => undefined);
} else if (!usable) {
  // The library is optional, so a host without it has nothing to show but this.
  test('without cuSOLVER the report says what to do', () => {
    expect(cusolver.report().remedy).toContain('nvidia-cusolver');
  });
}

/** Columns after columns. */
type Dense = Float64Array;

let seed = 12345;
function random(): number {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed / 0x40000000 - 1;
}

const dense = (length: number): Dense => Float64Array.from({ length }, random);

/** op(a) b for a of rows x inner (stored inner x rows if transposed) and b of inner x columns. */
function multiply(a: Dense, b: Dense, rows: number, inner: number, transposed = false): Dense {
  const columns = b.length / inner;
  const out = new Float64Array(rows * columns);
  for (let j = 0; j < columns; j++)
    for (let l = 0; l < inner; l++)
      for (let i = 0; i < rows; i++)
        out[i + j * rows] =
          (out[i + j * rows] ?? 0) +
          (a[transposed ? l + i * inner : i + l * rows] ?? 0) * (b[l + j * inner] ?? 0);
  return out;
}

/** Symmetric; positive definite when `shift` is above n. */
function symmetric(n: number, shift: number): Dense {
  const a = dense(n * n);
  for (let j = 0; j < n; j++)
    for (let i = 0; i <= j; i++) a[j + i * n] = (a[i + j * n] ?? 0) + (i === j ? shift : 0);
  return a;
}

const largest = (a: Dense): number => a.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
const distance = (a: Dense, b: Dense): number => largest(a.map((x, i) => x - (b[i] ?? NaN)));

const n = 96;
const types: readonly [RealType, number][] = [
  ['float64', 2 ** -52],
  ['float32', 2 ** -23],
];

describe.each(usable ? types : [])('cuSOLVER in %s', (dtype, eps) => {
  const device = cuda.device(0);
  const stream = device.defaultStream;
  const bytes = dtype === 'float64' ? 8 : 4;
  const bound = 30 * n * eps;
  const info = { buffer: device.allocate(4, stream) };
  const set = (buffer: DeviceBuffer, data: Dense): Promise<void> =>
    stream.copyToDevice(buffer, 0, dtype === 'float64' ? data : Float32Array.from(data));
  const put = async (data: Dense): Promise<DeviceBuffer> => {
    const buffer = device.allocate(data.length * bytes, stream);
    await set(buffer, data);
    return buffer;
  };
  const get = async (buffer: DeviceBuffer): Promise<Dense> => {
    const out =
      dtype === 'float64' ? new Float64Array(buffer.bytes / 8) : new Float32Array(buffer.bytes / 4);
    await stream.copyToHost(out, buffer);
    return Float64Array.from(out);
  };
  const int = async (region: { buffer: DeviceBuffer }): Promise<number[]> => {
    const out = new Int32Array(region.buffer.bytes / 4);
    await stream.copyToHost(out, region.buffer);
    return [...out];
  };
  const scratch = ({ deviceBytes }: { deviceBytes: number }): { buffer: DeviceBuffer } => ({
    buffer: device.allocate(deviceBytes, stream),
  });
  const rounded = (a: Dense): Dense =>
    dtype === 'float64' ? a : Float64Array.from(Float32Array.from(a));
  const tall = { dtype, rows: n, columns: 40 } as const;

  test.each(['lower', 'upper'] as const)(
    'Cholesky of the %s triangle, captured too',
    async (uplo) => {
      await cusolver.prepare(stream);
      const a = rounded(symmetric(n, 2 * n));
      const b = rounded(dense(n * 3));
      const shape = { dtype, uplo, n } as const;
      const [matrix, right] = [await put(a), await put(b)];
      const workspace = scratch(cusolver.potrfWorkspace(stream, { ...shape, leadingDimension: n }));
      const both = { ...shape, a: { buffer: matrix, leadingDimension: n }, info };
      const solve = (): void => {
        cusolver.potrf(stream, { ...both, workspace });
        cusolver.potrs(stream, { ...both, columns: 3, b: { buffer: right, leadingDimension: n } });
      };
      solve();
      const x = await get(right);
      expect(await int(info)).toEqual([0]);
      expect(distance(multiply(a, x, n, n), b)).toBeLessThan(bound * 3 * n * largest(x));

      await set(matrix, a);
      await set(right, b);
      stream.beginCapture();
      solve();
      const exec = stream.endCapture().instantiate();
      exec.launch(stream);
      expect(distance(await get(right), x)).toBeLessThan(bound);
      exec.dispose();
    },
  );

  test('an indefinite matrix: its info is the leading minor', async () => {
    const a = symmetric(n, 2 * n);
    a[6 + 6 * n] = -1;
    const buffer = await put(a);
    const shape = { dtype, uplo: 'lower', n } as const;
    const workspace = scratch(cusolver.potrfWorkspace(stream, { ...shape, leadingDimension: n }));
    cusolver.potrf(stream, { ...shape, a: { buffer, leadingDimension: n }, workspace, info });
    expect(await int(info)).toEqual([7]);
  });

  test.each([
    ['int64', false],
    ['int64', true],
    ['int32', false],
    ['int32', true],
  ] as const)('LU with %s pivots, transposed: %s, captured too', async (pivotType, transpose) => {
    await cusolver.prepare(stream);
    const a = rounded(dense(n * n));
    const b = rounded(dense(n * 2));
    const [matrix, right] = [await put(a), await put(b)];
    const pivots = { buffer: device.allocate(n * (pivotType === 'int64' ? 8 : 4), stream) };
    const at = { buffer: matrix, leadingDimension: n };
    const square = { dtype, rows: n, columns: n, pivotType } as const;
    const workspace = scratch(cusolver.getrfWorkspace(stream, { ...square, leadingDimension: n }));
    const both = (): void => {
      cusolver.getrf(stream, { ...square, a: at, pivots, workspace, info });
      const solve = { dtype, n, columns: 2, transpose, a: at, pivots, pivotType, info } as const;
      cusolver.getrs(stream, { ...solve, b: { buffer: right, leadingDimension: n } });
    };
    both();
    const x = await get(right);
    expect(await int(info)).toEqual([0]);
    const residual = distance(multiply(a, x, n, n, transpose), b);
    expect(residual).toBeLessThan(bound * n * Math.max(1, largest(x)));

    await set(matrix, a);
    await set(right, b);
    stream.beginCapture();
    both();
    const exec = stream.endCapture().instantiate();
    exec.launch(stream);
    expect(distance(await get(right), x)).toBeLessThan(bound * n * Math.max(1, largest(x)));
    exec.dispose();
  });

  test.each(['int64', 'int32'] as const)(
    'LU with %s pivots says which rows it exchanged, and which pivot is 0',
    async (pivotType) => {
      const factor = async (at: (row: number, column: number) => number): Promise<number[]> => {
        const a = Float64Array.from({ length: n * n }, (_, k) => at(k % n, Math.floor(k / n)));
        const buffer = await put(a);
        const rows = pivotType === 'int32' ? new Int32Array(n) : new BigInt64Array(n);
        const pivots = { buffer: device.allocate(rows.byteLength, stream) };
        const square = { dtype, rows: n, columns: n, pivotType } as const;
        const shape = { ...square, leadingDimension: n };
        const workspace = scratch(cusolver.getrfWorkspace(stream, shape));
        const matrix = { buffer, leadingDimension: n };
        cusolver.getrf(stream, { ...square, a: matrix, pivots, workspace, info });
        await stream.copyToHost(rows, pivots.buffer);
        return [...rows].map(Number);
      };
      // Column j has its one element a row below the diagonal, the last in the first row.
      const moved = await factor((row, column) => (row === (column + 1) % n ? 2 : 0));
      expect(moved).toEqual(Array.from({ length: n }, (_, i) => Math.min(n, i + 2)));
      expect(await int(info)).toEqual([0]);
      await factor((row, column) => (row === column && row !== 6 ? 2 : 0));
      expect(await int(info)).toEqual([7]);
    },
  );

  test('QR: Q R is the matrix', async () => {
    const a = rounded(dense(n * 40));
    const at = { buffer: await put(a), leadingDimension: n };
    const tau = { buffer: device.allocate(40 * bytes, stream) };
    const workspace = scratch(cusolver.geqrfWorkspace(stream, { ...tall, leadingDimension: n }));
    cusolver.geqrf(stream, { ...tall, a: at, tau, workspace, info });
    const r = (await get(at.buffer)).map((x, i) => (i % n <= Math.floor(i / n) ? x : 0));
    const c = { buffer: await put(r), leadingDimension: n };
    const product = { ...tall, side: 'left', reflectors: 40, a: at, tau, c } as const;
    const more = scratch(cusolver.ormqrWorkspace(stream, product));
    cusolver.ormqr(stream, { ...product, workspace: more, info });
    expect(await int(info)).toEqual([0]);
    expect(distance(await get(c.buffer), a)).toBeLessThan(bound);
  });

  test('eigenvectors of one matrix and of a batch, while timers run', async () => {
    const matrices = [symmetric(n, 0), symmetric(n, 1), symmetric(n, 2)].map(rounded);
    const all = Float64Array.from(matrices.flatMap((matrix) => [...matrix]));
    const check = (a: Dense, v: Dense, w: Dense): void => {
      const scaled = v.map((x, i) => x * (w[Math.floor(i / n)] ?? NaN));
      expect(distance(multiply(a, v, n, n), scaled)).toBeLessThan(bound * largest(w));
      expect([...w]).toEqual([...w].sort((x, y) => x - y));
    };
    const [first = all] = matrices;
    const a = { buffer: await put(first), leadingDimension: n };
    const values = { buffer: device.allocate(n * bytes, stream) };
    const one = { dtype, uplo: 'lower', n, a, values, vectors: true } as const;
    const workspace = scratch(cusolver.syevdWorkspace(stream, one));
    await cusolver.syevd(stream, { ...one, workspace, info });
    expect(await int(info)).toEqual([0]);
    check(first, await get(a.buffer), await get(values.buffer));

    // a single call may be shorter than a tick
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const start = performance.now();
    while (performance.now() - start < 20)
      await cusolver.syevd(stream, { ...one, workspace, info });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);

    const many = { buffer: await put(all), leadingDimension: n };
    const lists = { buffer: device.allocate(3 * n * bytes, stream) };
    const infos = { buffer: device.allocate(12, stream) };
    const batch = { ...one, a: many, values: lists, batch: 3 } as const;
    const more = scratch(cusolver.syevBatchedWorkspace(stream, batch));
    await cusolver.syevBatched(stream, { ...batch, workspace: more, infos });
    expect(await int(infos)).toEqual([0, 0, 0]);
    const [vectors, w] = [await get(many.buffer), await get(lists.buffer)];
    for (const [i, matrix] of matrices.entries()) {
      check(matrix, vectors.subarray(i * n * n, (i + 1) * n * n), w.subarray(i * n, (i + 1) * n));
    }
  });

  test('singular vectors: U S Vᵀ is the matrix; the values alone are the same', async () => {
    const a = rounded(dense(n * 40));
    const values = { buffer: device.allocate(40 * bytes, stream) };
    const u = { buffer: device.allocate(n * 40 * bytes, stream), leadingDimension: n };
    const vt = { buffer: device.allocate(40 * 40 * bytes, stream), leadingDimension: 40 };
    const at = { buffer: await put(a), leadingDimension: n };
    const thin = {
      ...tall,
      a: at,
      values,
      u,
      vt,
      leftVectors: 'thin',
      rightVectors: 'thin',
    } as const;
    const workspace = scratch(cusolver.gesvdWorkspace(stream, thin));
    await cusolver.gesvd(stream, { ...thin, workspace, info });
    expect(await int(info)).toEqual([0]);
    const [left, s, right] = [await get(u.buffer), await get(values.buffer), await get(vt.buffer)];
    const scaled = left.map((x, i) => x * (s[Math.floor(i / n)] ?? NaN));
    expect(distance(multiply(scaled, right, n, 40), a)).toBeLessThan(bound * largest(s));

    const again = { buffer: await put(a), leadingDimension: n };
    const none = { ...tall, a: again, values, leftVectors: 'none', rightVectors: 'none' } as const;
    const less = scratch(cusolver.gesvdWorkspace(stream, none));
    await cusolver.gesvd(stream, { ...none, workspace: less, info });
    expect(distance(await get(values.buffer), s)).toBeLessThan(bound * largest(s));
  });

  test('many small Cholesky factors and solves through pointers', async () => {
    const [small, batch] = [8, 50];
    const matrices = Array.from({ length: batch }, () => rounded(symmetric(small, 2 * small)));
    const rights = rounded(dense(small * batch));
    const a = await put(Float64Array.from(matrices.flatMap((matrix) => [...matrix])));
    const b = await put(rights);
    const table = async (
      buffer: DeviceBuffer,
      elements: number,
    ): Promise<{ buffer: DeviceBuffer }> => {
      const addresses = BigUint64Array.from(
        { length: batch },
        (_, i) => buffer.address + BigInt(i * elements * bytes),
      );
      const pointers = device.allocate(addresses.byteLength, stream);
      await stream.copyToDevice(pointers, 0, addresses);
      return { buffer: pointers };
    };
    const pointers = await table(a, small * small);
    const rightPointers = await table(b, small);
    const infos = { buffer: device.allocate(4 * batch, stream) };
    const shape = { dtype, uplo: 'lower', n: small, leadingDimension: small, batch } as const;
    cusolver.potrfBatched(stream, { ...shape, pointers, infos });
    const right = { rightPointers, rightLeadingDimension: small };
    cusolver.potrsBatched(stream, { ...shape, pointers, ...right, info });
    expect(await int(infos)).toEqual(Array(batch).fill(0));
    const x = await get(b);
    for (const [i, matrix] of matrices.entries()) {
      const own = x.subarray(i * small, (i + 1) * small);
      const expected = rights.subarray(i * small, (i + 1) * small);
      expect(distance(multiply(matrix, own, small, small), expected)).toBeLessThan(bound * small);
    }
  });
});
