import { empty, tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  band,
  complexOf,
  imagToComplex,
  lazyI,
  lazyJ,
  localWindow,
  lowerTriangle,
  offDiagonal,
  realToComplex,
  rowNumberI,
  rowNumberJ,
  upperTriangle,
  type LazyTensor,
} from './index.js';
import { numbers, upload } from './reference.test-support.js';

/** A matrix that depends on both row numbers: 10 i + j. */
async function numbered(m: number, n: number, device: Device): Promise<LazyTensor<'float32'>> {
  const column = (rows: number, by: number): number[][] =>
    Array.from({ length: rows }, (_, row) => [row * by]);
  const x = await tensor(column(m, 10), { device });
  return lazyI(x).add(lazyJ(await tensor(column(n, 1), { device })));
}

/** Roundings of exp(3) times a cosine: 10 of the one, 12 of the largest cosine, which are 29 of cos(-2), and one of the product. */
const FUNCTIONS = 40;

const dense = async (x: LazyTensor): Promise<unknown> => (await x.toDense()).toNested();

/** A dense matrix of one number at every pair, from a predicate. */
const matrix = (m: number, n: number, at: (i: number, j: number) => number): number[][][] =>
  Array.from({ length: m }, (_, i) => Array.from({ length: n }, (_, j) => [at(i, j)]));

/** Dense matrices, diagonals, rows, products, masks and complex matrices. */
export function describeMatrices(device: () => Device): void {
  describe('matrices', () => {
    it('become dense, transposed, in rows and as a diagonal', async () => {
      const k = await numbered(4, 3, device());
      const value = (i: number, j: number): number => 10 * i + j;
      expect(await dense(k)).toEqual(matrix(4, 3, value));
      expect(await dense(k.t())).toEqual(matrix(3, 4, (j, i) => value(i, j)));
      expect(await dense(k.rows(2))).toEqual(matrix(1, 3, (_, j) => value(2, j)));
      expect(await dense(k.rows(-1))).toEqual(matrix(1, 3, (_, j) => value(3, j)));
      expect(await dense(k.rows([1, 4, 2]))).toEqual(matrix(2, 3, (i, j) => value(1 + 2 * i, j)));
      expect(await dense(k.rows([2]).rows([1]))).toEqual(matrix(1, 3, (_, j) => value(3, j)));
      expect(await dense(k.rows([2, 2]))).toEqual([]);
      const square = k.rows([0, 3]);
      expect(await (await square.diag()).toNested()).toEqual([[0], [11], [22]]);
    });

    it('keep the row numbers of the whole', async () => {
      const k = (await numbered(4, 3, device()))
        .mul(0)
        .add(rowNumberI().mul(100))
        .add(rowNumberJ());
      expect(await dense(k.rows([1, 4, 2]))).toEqual(matrix(2, 3, (i, j) => 100 * (1 + 2 * i) + j));
      expect(await dense(k.t())).toEqual(matrix(3, 4, (j, i) => 100 * i + j));
      expect(await (await k.rows([0, 3]).diag()).toNested()).toEqual([[0], [101], [202]]);
    });

    it('become dense with batches, vectors and an output', async () => {
      const data = [numbers(1, 3, 2, { batch: [2, 1] }), numbers(2, 4, 2, { batch: [3] })] as const;
      const [x, y] = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const out = empty([2, 3, 3, 4, 2], { dtype: 'float64', device: device() });
      const product = lazyI(x!).mul(lazyJ(y!));
      expect(await product.toDense({ out })).toBe(out);
      const found = await out.toTypedArray();
      let at = 0;
      for (const b of [0, 1]) {
        for (const c of [0, 1, 2]) {
          const x0 = data[0].values.subarray(6 * b, 6 * b + 6);
          const y0 = data[1].values.subarray(8 * c, 8 * c + 8);
          for (const i of [0, 1, 2]) {
            for (const j of [0, 1, 2, 3]) {
              for (const k of [0, 1]) {
                expect(found[at++]).toBe((x0[2 * i + k] ?? NaN) * (y0[2 * j + k] ?? NaN));
              }
            }
          }
        }
      }
    });

    it('times vectors, one or several, from tensors and arrays', async () => {
      const k = await numbered(3, 2, device());
      expect(await (await k.matmul([1, 2])).toNested()).toEqual([2, 32, 62]);
      expect(await (await k.matmul(new Float32Array([1, 2]))).toNested()).toEqual([2, 32, 62]);
      const v = await tensor(
        [
          [1, 0],
          [2, 1],
        ],
        { device: device() },
      );
      expect(await (await k.matmul(v)).toNested()).toEqual([
        [2, 1],
        [32, 11],
        [62, 21],
      ]);
      expect(await (await k.matmul(lazyJ(v))).toNested()).toEqual([
        [2, 1],
        [32, 11],
        [62, 21],
      ]);
      expect(await (await k.t().matmul([1, 1, 1])).toNested()).toEqual([30, 33]);
      const out = empty([3], { device: device() });
      expect(await k.matmul(v.slice(null, 0), { out })).toBe(out);
      expect(await out.toNested()).toEqual([2, 32, 62]);
    });

    it('have masks of row numbers', async () => {
      const k = (await numbered(4, 5, device())).mul(0).add(1);
      const masks: (readonly [LazyTensor, (i: number, j: number) => boolean])[] = [
        [lowerTriangle(), (i, j) => j <= i],
        [lowerTriangle(-1), (i, j) => j < i],
        [upperTriangle(), (i, j) => j >= i],
        [upperTriangle(2), (i, j) => j >= i + 2],
        [band(1, 2), (i, j) => j >= i - 1 && j <= i + 2],
        [localWindow(1), (i, j) => Math.abs(i - j) <= 1],
        [offDiagonal(), (i, j) => i !== j],
      ];
      const [first, ...rest] = masks.map(([mask]) => mask);
      const found = await k.mul(first!.concat(...rest)).toDense();
      expect(await found.toNested()).toEqual(
        Array.from({ length: 4 }, (_, i) =>
          Array.from({ length: 5 }, (_, j) => masks.map(([, test]) => Number(test(i, j)))),
        ),
      );
    });

    it('leave out pairs that a mask leaves out, NaN or not', async () => {
      const x = await tensor([[0], [1], [5]], { device: device() });
      const distance = lazyI(x).sub(lazyJ(x)).abs();
      const others = offDiagonal().where(distance, Infinity);
      expect(await (await others.argMin('j')).toNested()).toEqual([[1], [0], [1]]);
      const ratio = offDiagonal().where(distance.div(distance), 0);
      expect(await (await ratio.sum('j')).toNested()).toEqual([[2], [2], [2]]);
    });

    it('are complex in pairs', async () => {
      const [a, b] = [
        [3, -2],
        [0.5, 4],
      ] as const;
      const place = { device: device() };
      const z = complexOf(lazyI(await tensor([a], place), { name: 'z' }));
      const w = complexOf(lazyJ(await tensor([b], place), { name: 'w' }));
      const parts = [
        [z.add(w).pairs(), [3.5, 2]],
        [z.sub(w).pairs(), [2.5, -6]],
        [z.mul(w).pairs(), [3 * 0.5 + 8, 12 - 1]],
        [z.div(w).pairs(), [(1.5 - 8) / 16.25, (-1 - 12) / 16.25]],
        [z.neg().pairs(), [-3, 2]],
        [z.conj().pairs(), [3, 2]],
        [z.mul(2).pairs(), [6, -4]],
        [z.add(w.real()).pairs(), [3.5, -2]],
        [z.real(), [3]],
        [z.imag(), [-2]],
        [z.abs(), [Math.sqrt(13)]],
        [z.squareAbs(), [13]],
        [realToComplex(z.real()).add(imagToComplex(z.imag())).pairs(), [3, -2]],
        [complexOf(z.pairs().concat(w.pairs())).sum().pairs(), [3.5, 2]],
        [z.exp().pairs(), [Math.exp(3) * Math.cos(-2), Math.exp(3) * Math.sin(-2)]],
        [z.angle(), [Math.atan2(-2, 3)]],
      ] as const satisfies (readonly [LazyTensor, readonly number[]])[];
      const [first, ...rest] = parts.map(([lazy]) => lazy);
      const found = await (await first!.concat(...rest).toDense()).toTypedArray();
      const wanted = parts.flatMap(([, values]) => [...values]);
      // Sums and products of these numbers are exact.
      const functions = wanted.length - 3;
      for (const [at, want] of wanted.entries()) {
        const units = at >= functions ? FUNCTIONS : Number.isInteger(4 * want) ? 0 : 4;
        const bound = units * 2 ** -24 * Math.abs(want);
        expect(Math.abs((found[at] ?? NaN) - want), `number ${at}`).toBeLessThanOrEqual(bound);
      }
      const sums = await z.mul(w).sum('j');
      expect(await sums.toNested()).toEqual([[9.5, 11]]);
    });
  });
}
