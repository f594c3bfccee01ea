import { describe, expect, test } from 'vitest';
import { cuda } from '../cuda.js';
import { cublasLt } from './cublaslt.js';

const available = cuda.isAvailable();
const usable = available && cublasLt.isAvailable();

if (!available) {
  test.skip('GPU tests: no CUDA device', () => undefined);
} else if (!usable) {
  // The library is optional, so a host without it has nothing to show but this.
  test('without cuBLASLt the report says what to do', () => {
    expect(cublasLt.report().remedy).toContain('nvidia-cublas');
  });
}

let seed = 99;
function random(): number {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed / 0x40000000 - 1;
}

const cases = (['float64', 'float32', 'tf32'] as const).flatMap((compute) =>
  (['row', 'column'] as const).flatMap((order) =>
    [false, true].flatMap((transposeA) =>
      [false, true].map((transposeB) => ({ compute, order, transposeA, transposeB })),
    ),
  ),
);

describe.each(usable ? [0] : [])('cuBLASLt on cuda:%i', (index) => {
  const device = cuda.device(index);
  const stream = device.defaultStream;
  const workspace = { buffer: device.allocate(32 << 20, stream) };

  test.each(cases)(
    'a batch in $compute, $order order, transposed: $transposeA, $transposeB',
    async ({ compute, order, transposeA, transposeB }) => {
      const [m, n, k, batch] = [33, 47, 65, 3];
      const dtype = compute === 'float64' ? 'float64' : 'float32';
      const make = (length: number, fill: () => number): Float64Array | Float32Array =>
        dtype === 'float64'
          ? Float64Array.from({ length }, fill)
          : Float32Array.from({ length }, fill);
      const put = async (length: number) => {
        const data = make(length, random);
        const buffer = device.allocate(data.byteLength, stream);
        await stream.copyToDevice(buffer, 0, data);
        return { data, buffer };
      };
      const leading = (rows: number, columns: number): number => (order === 'row' ? columns : rows);
      /** Element (i, j) of a matrix of rows x columns. */
      const at = (data: ArrayLike<number>, rows: number, columns: number, i: number, j: number) =>
        data[order === 'row' ? i * columns + j : i + j * rows] ?? NaN;
      const [a, b, d] = [await put(m * k * batch), await put(k * n), await put(m * n * batch)];
      cublasLt.matmul(stream, {
        dtype,
        compute,
        order,
        m,
        n,
        k,
        batch,
        transposeA,
        transposeB,
        workspace,
        alpha: 2,
        beta: -1,
        a: {
          buffer: a.buffer,
          leadingDimension: transposeA ? leading(k, m) : leading(m, k),
          batchStride: m * k,
        },
        b: { buffer: b.buffer, leadingDimension: transposeB ? leading(n, k) : leading(k, n) },
        d: { buffer: d.buffer, leadingDimension: leading(m, n), batchStride: m * n },
      });
      const out = make(m * n * batch, () => NaN);
      await stream.copyToHost(out, d.buffer);
      let worst = 0;
      for (let z = 0; z < batch; z++) {
        const own = a.data.subarray(z * m * k, (z + 1) * m * k);
        const before = d.data.subarray(z * m * n, (z + 1) * m * n);
        const after = out.subarray(z * m * n, (z + 1) * m * n);
        for (let i = 0; i < m; i++)
          for (let j = 0; j < n; j++) {
            let sum = 0;
            for (let l = 0; l < k; l++) {
              const x = transposeA ? at(own, k, m, l, i) : at(own, m, k, i, l);
              sum += x * (transposeB ? at(b.data, n, k, j, l) : at(b.data, k, n, l, j));
            }
            const expected = 2 * sum - at(before, m, n, i, j);
            worst = Math.max(worst, Math.abs(at(after, m, n, i, j) - expected));
          }
      }
      const eps = { float64: 2 ** -52, float32: 2 ** -23, tf32: 2 ** -10 }[compute];
      expect(worst).toBeLessThan(2 * k * eps);
    },
  );
});
