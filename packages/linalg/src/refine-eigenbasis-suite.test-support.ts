import { describe, expect, it } from 'vitest';
import { EPSILON } from './checks.js';
import { eigh } from './eigh.js';
import { NotFiniteError } from './errors.js';
import {
  at,
  dense,
  DTYPES,
  flip,
  identity,
  minus,
  norm1,
  onlyMatrix,
  orthogonality,
  randomOrthogonal,
  symmetricWith,
  THRESHOLD,
  times,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { refineEigenbasis } from './refine-eigenbasis.js';

const FALLING = [8, 4, 2, 1, 0.5];

const frobenius = ({ data }: Dense): number => Math.sqrt(data.reduce((sum, x) => sum + x * x, 0));

/** What is beside the diagonal of q^T a q, of a's size. */
const left = (a: Dense, q: Dense): number => {
  const turned = times(flip(q), times(a, q));
  const beside = dense(a.rows, a.rows, (i, j) => (i === j ? 0 : at(turned, i, j)));
  return frobenius(beside) / frobenius(a);
};

/** Orthogonal iteration from a basis of a matrix near by. */
export function refineEigenbasisSuite(where: string): void {
  describe(`refineEigenbasis, ${where}`, () => {
    it('takes a basis nearer by the ratios of the eigenvalues, and says how near', async () => {
      for (const dtype of DTYPES) {
        const a = symmetricWith(FALLING, 3);
        const q = randomOrthogonal(5, 3);
        // a small rotation away from the eigenvectors
        const [c, s] = [Math.cos(0.01), Math.sin(0.01)];
        const rotation = dense(5, 5, (i, j) =>
          i === j ? (i < 2 ? c : 1) : i + j === 1 ? (i === 0 ? -s : s) : 0,
        );
        const start = times(q, rotation);
        const tensors = [await toTensor(a, dtype), await toTensor(start, dtype)] as const;
        let before = left(a, start);
        expect(before).toBeGreaterThan(1e-3);
        for (const iterations of [1, 2, 4]) {
          const refined = await refineEigenbasis(...tensors, { iterations });
          expect(await refined.infos.toNested()).toBe(0);
          const vectors = await onlyMatrix(refined.vectors);
          expect(orthogonality(vectors, dtype)).toBeLessThan(THRESHOLD);
          const now = left(a, vectors);
          // the two that were turned have eigenvalues of ratio 2
          expect(now / before).toBeLessThan(0.6);
          expect(Math.abs(Number(await refined.errors.toNested()) - now)).toBeLessThan(
            100 * EPSILON[dtype],
          );
          const values = [...(await refined.values.toTypedArray())];
          const turned = times(flip(vectors), times(a, vectors));
          values.forEach((value, i) => {
            expect(Math.abs(value - at(turned, i, i))).toBeLessThan(1e3 * EPSILON[dtype]);
          });
          before = now;
        }
      }
    });

    it('comes to the eigenvectors from any basis, in a batch of matrices and one basis', async () => {
      const matrices = [symmetricWith(FALLING, 1), symmetricWith([1e-30, 1e-31, 0, 0, 0], 2)];
      const a = await toTensor(matrices, 'float32');
      const basis = await toTensor(identity(5), 'float32');
      const { values, errors, infos } = await refineEigenbasis(a, basis, { iterations: 40 });
      expect(await infos.toNested()).toEqual([0, 0]);
      for (const error of await errors.toTypedArray()) expect(error).toBeLessThan(1e-5);
      const { values: truth } = await eigh(a);
      const [found, rising] = [await values.toTypedArray(), await truth.toTypedArray()];
      for (let z = 0; z < 2; z++) {
        const size = Math.max(...rising.slice(5 * z, 5 * z + 5));
        for (let i = 0; i < 5; i++) {
          expect(Math.abs(found[5 * z + i]! - rising[5 * z + 4 - i]!) / size).toBeLessThan(1e-5);
        }
      }
    });

    it('keeps eigenvectors, and takes zeros', async () => {
      const q = randomOrthogonal(5, 4);
      const a = await toTensor([symmetricWith(FALLING, 4), dense(5, 5, () => 0)], 'float64');
      const refined = await refineEigenbasis(a, await toTensor(q, 'float64'));
      const [same, ofZeros] = await toDense(refined.vectors);
      const overlap = times(flip(q), same!);
      for (let i = 0; i < 5; i++) expect(Math.abs(at(overlap, i, i))).toBeCloseTo(1, 12);
      expect(orthogonality(ofZeros!, 'float64')).toBeLessThan(THRESHOLD);
      expect((await refined.errors.toTypedArray())[1]).toBe(0);
      expect([...(await refined.values.toTypedArray())].slice(5)).toEqual([0, 0, 0, 0, 0]);
    });

    it('says where a matrix or its basis is not finite, and gives the others', async () => {
      const bad = dense(2, 2, (i, j) => (i + j === 1 ? NaN : 1));
      const a = await toTensor([identity(2), bad, identity(2)], 'float64');
      const infinite = dense(2, 2, () => Infinity);
      const basis = await toTensor([identity(2), identity(2), infinite], 'float64');
      const { vectors, values, infos } = await refineEigenbasis(a, basis);
      expect(await infos.toNested()).toEqual([0, -1, -1]);
      const [first, ...others] = await toDense(vectors);
      expect(norm1(minus(times(flip(first!), first!), identity(2)))).toBeLessThan(1e-14);
      for (const { data } of others) expect(data.every(Number.isNaN)).toBe(true);
      expect(await values.toNested()).toEqual([
        [1, 1],
        [NaN, NaN],
        [NaN, NaN],
      ]);
      const asked = refineEigenbasis(a, basis, { checkErrors: true });
      await expect(asked).rejects.toThrow(NotFiniteError);
    });

    it('writes into out, and is prepared', async () => {
      const a = await toTensor(symmetricWith(FALLING, 5), 'float64');
      const q = await toTensor(identity(5), 'float64');
      const plain = await refineEigenbasis(a, q);
      const prepared = await refineEigenbasis.prepare(a, q);
      const room = await toTensor(identity(5), 'float64');
      const values = (await toTensor(identity(5), 'float64')).slice(0);
      for (const vectors of [room, room.transpose()]) {
        const out = { vectors, values };
        const results =
          vectors === room ? prepared(a, q, { out }) : await refineEigenbasis(a, q, { out });
        expect(results.vectors).toBe(vectors);
        expect(results.values).toBe(values);
        expect(await vectors.toNested()).toEqual(await plain.vectors.toNested());
        expect(await values.toNested()).toEqual(await plain.values.toNested());
      }
    });

    it('refuses a basis of another order, and iterations that are no count', async () => {
      const [a, q] = [
        await toTensor(identity(3), 'float32'),
        await toTensor(identity(2), 'float32'),
      ];
      await expect(refineEigenbasis(a, q)).rejects.toThrow(/basis of the same order/);
      for (const iterations of [0, 1.5, NaN]) {
        await expect(refineEigenbasis(a, a, { iterations })).rejects.toThrow(/from 1 to 1000/);
      }
    });
  });
}
