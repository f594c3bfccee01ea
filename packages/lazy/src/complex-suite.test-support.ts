import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  complexOf,
  gradient,
  lazyI,
  lazyJ,
  realToComplex,
  type ComplexLazyTensor,
} from './index.js';
import { upload, wholeNumbers, type Numbers } from './reference.test-support.js';

type Complex = readonly [re: number, im: number];
/** Complex vectors by row of i and of j. */
type Entries = (i: number, j: number) => readonly Complex[];

const times = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];
const plus = ([a, b]: Complex, [c, d]: Complex): Complex => [a + c, b + d];

/** Complex number n of a row. */
const at = ({ dim, values }: Numbers, row: number, n: number): Complex => [
  values[row * dim + 2 * n] ?? NaN,
  values[row * dim + 2 * n + 1] ?? NaN,
];

const [M, N] = [5, 7];
const [X, Y] = [wholeNumbers(21, M, 4), wholeNumbers(22, N, 4)];

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** z_i w_j with two numbers each. */
const products: Entries = (i, j) => [0, 1].map((n) => times(at(X, i, n), at(Y, j, n)));

/** What a sum of one term is, which begins with 0. */
const asSum = (term: number): number => 0 + term;

const dense = (rows: number, columns: number, of: Entries): number[][][] =>
  upTo(rows).map((i) => upTo(columns).map((j) => of(i, j).flat().map(asSum)));

/** Sums over j. */
const sums = (rows: number, columns: number, of: Entries): number[][] =>
  upTo(rows).map((i) =>
    upTo(columns)
      .map((j) => of(i, j))
      .reduce((one, other) => one.map((number, n) => plus(number, other[n] ?? [NaN, NaN])))
      .flat()
      .map(asSum),
  );

/** Complex matrices of whole numbers, which nothing rounds, against loops. */
export function describeComplex(device: () => Device): void {
  describe('complex matrices', () => {
    const made = async (): Promise<{
      z: ComplexLazyTensor<'float64'>;
      w: ComplexLazyTensor<'float64'>;
      product: ComplexLazyTensor<'float64'>;
    }> => {
      const z = complexOf(lazyI(await upload(X, 'float64', device()), { name: 'z' }));
      const w = complexOf(lazyJ(await upload(Y, 'float64', device()), { name: 'w' }));
      return { z, w, product: z.mul(w) };
    };
    const nested = async (x: PromiseLike<Tensor>): Promise<unknown> => (await x).toNested();

    it('become dense, transposed, in rows and as a diagonal', async () => {
      const { product } = await made();
      expect(await nested(product.toDense())).toEqual(dense(M, N, products));
      expect(await nested(product.t().toDense())).toEqual(dense(N, M, (j, i) => products(i, j)));
      expect(product.t().shape).toEqual([N, M, 4]);
      expect(await nested(product.rows([1, 5, 2]).toDense())).toEqual(
        dense(2, N, (i, j) => products(1 + 2 * i, j)),
      );
      const square = product.t().rows([0, M]);
      expect(await nested(square.diag())).toEqual(
        upTo(M).map((i) => products(i, i).flat().map(asSum)),
      );
      const out = empty([M, N, 4], { dtype: 'float64', device: device() });
      expect(await product.toDense({ out })).toBe(out);
      expect(await out.toNested()).toEqual(dense(M, N, products));
    });

    it('have numbers that are taken and put together', async () => {
      const { z, w, product } = await made();
      expect(product.elem(1).complexDim).toBe(1);
      expect(await nested(product.elem(1).toDense())).toEqual(
        dense(M, N, (i, j) => products(i, j).slice(1)),
      );
      expect(await nested(product.extract(0, 2).toDense())).toEqual(dense(M, N, products));
      const all = z.elem(0).concat(w, w.real().elem(1), 3);
      expect(all.complexDim).toBe(5);
      expect(await nested(all.toDense())).toEqual(
        dense(M, N, (i, j) => [at(X, i, 0), at(Y, j, 0), at(Y, j, 1), [at(Y, j, 1)[0], 0], [3, 0]]),
      );
      for (const wrong of [2, -1, 0.5, NaN, '0' as never]) {
        expect(() => product.elem(wrong)).toThrow(/elem: number .* 2 complex numbers/);
      }
      expect(() => product.extract(1, 2)).toThrow(/extract: 2 numbers from 1 .* 2 complex numbers/);
      expect(() => product.extract(0, 0)).toThrow(/extract: 0 numbers/);
      expect(() => z.concat(w, 'x' as never)).toThrow(/concat: operand 2/);
    });

    it('are summed and averaged over both sides, at once or prepared', async () => {
      const { product } = await made();
      const turned: Entries = (j, i) => products(i, j);
      expect(await nested(product.sum('j'))).toEqual(sums(M, N, products));
      expect(await nested(product.sum('i'))).toEqual(sums(N, M, turned));
      expect(await nested(product.mean('j'))).toEqual(
        sums(M, N, products).map((row) => row.map((value) => value / N)),
      );
      const half = await product.sum('j', { outDtype: 'float32' });
      expect(half.dtype).toBe('float32');
      const z = complexOf(lazyI({ position: 0, dim: 4 }));
      const w = complexOf(lazyJ({ position: 1, dim: 4 }));
      const later = z.mul(w).reduction('Sum', 'i');
      const [x, y] = [
        await upload(X, 'float64', device()),
        await upload(Y, 'float64', device()),
      ] as const;
      expect(await nested(later.call([x, y]))).toEqual(sums(N, M, turned));
      const prepared = await later.prepare([x, y]);
      expect(await prepared([x, y]).toNested()).toEqual(sums(N, M, turned));
      expect(() => z.reduction('Min' as never, 'j')).toThrow(/Min.*Sum and Mean/);
    });

    it('have moduli and quotients where squares overflow or vanish', async () => {
      for (const size of [1e30, 1e-30]) {
        const rows = [3, 4, -4, 3, 0, 2, 0, 0].map((one) => one * size);
        const z = await tensor(Float32Array.from(rows), { shape: [4, 2], device: device() });
        const one = await tensor(Float32Array.from([size, 2 * size]), {
          shape: [1, 2],
          device: device(),
        });
        const [x, y] = [complexOf(lazyI(z)), complexOf(lazyJ(one))];
        const moduli = await x.abs().add(lazyJ(one).sum().mul(0)).sum('j');
        const quotients = await x.div(y).sum('j');
        const near = (got: ArrayLike<number>, wanted: readonly number[], unit: number): void => {
          for (const [at, want] of wanted.entries()) {
            expect(Math.abs(got[at]! - want * unit)).toBeLessThanOrEqual(1e-6 * unit);
          }
        };
        near(await moduli.toTypedArray(), [5, 5, 2, 0], size);
        near(await quotients.toTypedArray(), [2.2, -0.4, 0.4, 2.2, 0.8, 0.4, 0, 0], 1);
      }
      const infinite = await tensor([[Infinity, 1]], { device: device() });
      const alone = complexOf(lazyI(infinite))
        .abs()
        .add(lazyJ([[0]]));
      expect(await (await alone.sum('j')).toNested()).toEqual([[Infinity]]);
    });

    it('times vectors: pairs, real and complex ones', async () => {
      const { z, product } = await made();
      const V = wholeNumbers(23, N, 4);
      const v = await upload(V, 'float64', device());
      const single = product.elem(0);
      const by =
        (first: boolean, value: (j: number, n: number) => Complex): Entries =>
        (i, j) =>
          [0, 1].map((n) => times(products(i, j)[first ? 0 : n] ?? [NaN, NaN], value(j, n)));
      const complex = (j: number, n: number): Complex => at(V, j, n);
      expect(await nested(product.matmul(v))).toEqual(sums(M, N, by(false, complex)));
      expect(await nested(single.matmul(v))).toEqual(sums(M, N, by(true, complex)));
      expect(await nested(single.matmul(complexOf(lazyJ(v))))).toEqual(
        sums(M, N, by(true, complex)),
      );
      const out = empty([M, 4], { dtype: 'float64', device: device() });
      expect(
        await product.matmul(
          [...upTo(N)].map((j) => [j, 0, 0, 1]),
          { out },
        ),
      ).toBe(out);
      expect(await out.toNested()).toEqual(
        sums(
          M,
          N,
          by(false, (j, n) => (n === 0 ? [j, 0] : [0, 1])),
        ),
      );
      const real = lazyJ(v).extract(1, 2);
      expect(await nested(product.matmul(real))).toEqual(
        sums(
          M,
          N,
          by(false, (j, n) => [V.values[j * 4 + 1 + n] ?? NaN, 0]),
        ),
      );
      // A real matrix times complex vectors: of one number, and of as many.
      for (const numbers of [1, 2]) {
        const matrix = z.real().extract(0, numbers);
        const found = matrix.matmul(complexOf(lazyJ(v)));
        expect(await nested(found)).toEqual(
          sums(M, N, (i, j) =>
            [0, 1].map((n) => times([at(X, i, numbers === 1 ? 0 : n)[0], 0], at(V, j, n))),
          ),
        );
      }
      await expect(product.matmul(upTo(N).map((j) => [j, 0, 1]))).rejects.toThrow(/3/);
    });

    it('have gradients by pairs', async () => {
      const { product } = await made();
      const E = wholeNumbers(24, M, 4);
      const e = await upload(E, 'float64', device());
      const found = await gradient(product.reduction('Sum', 'j'), 'z', e);
      // Of Re(conj(e) z w), which is the sum of products of the parts: conj(w) e.
      const conj = ([re, im]: Complex): Complex => [re, -im];
      expect(await found.toNested()).toEqual(
        sums(M, N, (i, j) => [0, 1].map((n) => times(conj(at(Y, j, n)), at(E, i, n)))),
      );
    });

    it('take real parts where they meet real numbers', async () => {
      const x = await tensor([[1], [2]], { device: device(), dtype: 'float64' });
      const z = realToComplex(lazyI(x));
      const dot = await z.matmul([[1, 1]]);
      expect(await dot.toNested()).toEqual([
        [1, 1],
        [2, 2],
      ]);
    });
  });
}
