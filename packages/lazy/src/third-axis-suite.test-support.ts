import { tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lazyI, lazyJ, param, rowNumberJ } from './index.js';
import { upload, wholeNumbers, type Numbers } from './reference.test-support.js';

const [M, N, K] = [5, 7, 6];
const [X, Y, Z] = [wholeNumbers(61, M, 2), wholeNumbers(62, N, 2), wholeNumbers(63, K, 2)];
const at = ({ values, dim }: Numbers, row: number, c: number): number =>
  values[row * dim + c] ?? NaN;

/** x_i . y_j + y_j . z_k times x_i . z_k, of whole numbers. */
function term(i: number, j: number, k: number): number {
  const dot = (a: Numbers, row: number, b: Numbers, other: number): number =>
    [0, 1].reduce((sum, c) => sum + at(a, row, c) * at(b, other, c), 0);
  return dot(X, i, Y, j) + dot(Y, j, Z, k) * dot(X, i, Z, k);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const total = (terms: readonly number[]): number => terms.reduce((sum, one) => sum + one, 0);

/** What stands for a third symbolic axis (decision note 0056). */
export function describeThirdAxis(device: () => Device): void {
  describe('a third axis', () => {
    const data = async () => {
      const [x, y, z] = await Promise.all([X, Y, Z].map((one) => upload(one, 'float64', device())));
      return { x: x!, y: y!, z: z! };
    };

    it('is a batch axis where its results are kept, or added up', async () => {
      const { x, y, z } = await data();
      const [i, j, k] = [lazyI(x), lazyJ(y), param(z)];
      const products = i.dot(j).add(j.dot(k).mul(i.dot(k)));
      const kept = await products.sum('j');
      expect(await kept.toNested()).toEqual(
        upTo(K).map((c) => upTo(M).map((a) => [total(upTo(N).map((b) => term(a, b, c)))])),
      );
      const sums = upTo(M).map((a) => [
        total(upTo(N).flatMap((b) => upTo(K).map((c) => term(a, b, c)))),
      ]);
      expect(await kept.sum(0).toNested()).toEqual(sums);
    });

    it('is a part of the row number where both are reduced in one pass', async () => {
      const { x, y, z } = await data();
      const zero = await tensor([[0]], { dtype: 'float64', device: device() });
      const rows = lazyJ(zero.broadcastTo([N * K, 1]));
      const row = rowNumberJ().add(rows);
      const b = row.add(0.5).div(K).floor();
      const c = row.sub(b.mul(K));
      const [i, j, k] = [lazyI(x), b.gather(y), c.gather(z)];
      const products = i.dot(j).add(j.dot(k).mul(i.dot(k)));
      const sums = upTo(M).map((a) => [
        total(upTo(N).flatMap((one) => upTo(K).map((other) => term(a, one, other)))),
      ]);
      expect(await (await products.sum('j')).toNested()).toEqual(sums);
      const least = upTo(M).map((a) => {
        const terms = upTo(N).flatMap((one) => upTo(K).map((other) => term(a, one, other)));
        return [terms.indexOf(Math.min(...terms))];
      });
      expect(await (await products.argMin('j')).toNested()).toEqual(least);
    });
  });
}
