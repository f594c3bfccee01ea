import { describe, expect, it } from 'vitest';
import { EPSILON } from './checks.js';
import { NoConvergenceError, NotSemidefiniteError } from './errors.js';
import { kron } from './kron.js';
import { kronMatvec } from './kron-matvec.js';
import {
  at,
  dense,
  DTYPES,
  flip,
  geometric,
  identity,
  minus,
  norm1,
  onlyMatrix,
  randomMatrix,
  randomOrthogonal,
  rounded,
  scaledError,
  symmetricWith,
  THRESHOLD,
  times,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { matrixPower } from './matrix-power.js';

/** The power of symmetricWith(eigenvalues, seed), from the very eigenvalues. */
const powerOf = (eigenvalues: readonly number[], seed: number, power: number): Dense => {
  const raised = eigenvalues.map((value) => value ** power);
  return symmetricWith(raised, seed);
};

const kronOf = (a: Dense, b: Dense): Dense =>
  dense(a.rows * b.rows, a.columns * b.columns, (i, j) => {
    const [row, column] = [Math.floor(i / b.rows), Math.floor(j / b.columns)];
    return at(a, row, column) * at(b, i % b.rows, j % b.columns);
  });

/** Products only: what a CPU ends by itself, and what is enqueued as a whole. */
const ITERATIONS = [
  { method: 'newton' },
  { method: 'newton', steps: 40 },
  { method: 'higherOrder' },
] as const;

/** Matrix powers and Kronecker products. */
export function powersSuite(where: string, orders: readonly number[]): void {
  describe(`matrixPower, ${where}`, () => {
    it('is within its own error estimate by eigenvalues, for every power and dtype', async () => {
      for (const dtype of DTYPES) {
        for (const n of orders) {
          for (const power of [-1, -0.5, -0.25, 0, 0.5, 2, 3.7]) {
            const eigenvalues = geometric(n, 1e3);
            const a = symmetricWith(eigenvalues, n);
            const { result, errors, infos } = await matrixPower(await toTensor(a, dtype), power);
            expect(await infos.toNested()).toBe(0);
            const truth = powerOf(eigenvalues, n, power);
            const found = await onlyMatrix(result);
            const error = norm1(minus(truth, found)) / norm1(truth);
            // The estimate is for the 2-norm; the input was rounded as well.
            expect(error).toBeLessThan(Math.sqrt(n) * 4 * Number(await errors.toNested()));
          }
        }
      }
    });

    it.each(ITERATIONS)(
      'satisfies its equation by products, for -1/k and every dtype: %o',
      async (how) => {
        for (const dtype of DTYPES) {
          for (const n of orders) {
            const a = rounded(symmetricWith(geometric(n, 100), n), dtype);
            const given = await toTensor(a, dtype);
            for (const root of [1, 2, 3, 4, 6]) {
              const { result, errors, infos } = await matrixPower(given, -1 / root, how);
              expect(await infos.toNested()).toBe(0);
              expect(Number(await errors.toNested())).toBeLessThan(1e3 * n * EPSILON[dtype]);
              const x = await onlyMatrix(result);
              let left = a;
              for (let i = 0; i < root; i++) left = times(x, left);
              const off = norm1(minus(left, identity(n)));
              expect(off).toBeLessThan(THRESHOLD * n * 100 * EPSILON[dtype]);
            }
          }
        }
      },
    );

    it('raises a singular matrix with eps, and to positive powers without', async () => {
      const singular = symmetricWith([1, 0.5, 0], 3);
      const q = randomOrthogonal(3, 3);
      const a = await toTensor(singular, 'float64');
      for (const how of [{ method: 'eigh' }, ...ITERATIONS] as const) {
        const { result } = await matrixPower(a, -0.5, { ...how, eps: 0.25 });
        const scaled = dense(3, 3, (i, j) => at(q, i, j) / Math.sqrt([1.25, 0.75, 0.25][j]!));
        const truth = times(scaled, flip(q));
        expect(scaledError(truth, await onlyMatrix(result), 'float64')).toBeLessThan(THRESHOLD);
      }
      const { result: root, infos } = await matrixPower(a, 0.5);
      expect(await infos.toNested()).toBe(0);
      const half = await onlyMatrix(root);
      expect(norm1(minus(times(half, half), singular))).toBeLessThan(1e-7);
    });

    it('counts as 0 what the rounding of the elements may have made negative', async () => {
      const diagonal = (values: readonly number[]) =>
        dense(3, 3, (i, j) => (i === j ? values[i]! : 0));
      const a = await toTensor(diagonal([4, -1e-7, 1]), 'float64');
      expect(await (await matrixPower(a, 0.5)).infos.toNested()).toBe(1);
      const { result, infos } = await matrixPower(a, 0.5, { rounding: 2 ** -23 });
      expect(await infos.toNested()).toBe(0);
      expect(norm1(minus(await onlyMatrix(result), diagonal([2, 0, 1])))).toBeLessThan(1e-14);
    });

    it('says where there is no power, by either method', async () => {
      const bad = dense(2, 2, (i, j) => (i === j ? 1 - 2 * i : 0));
      const a = await toTensor([identity(2), bad, dense(2, 2, () => NaN)], 'float64');
      const { result, infos, errors } = await matrixPower(a, 0.5);
      expect(await infos.toNested()).toEqual([0, 1, -1]);
      expect((await toDense(result))[1]!.data.every(Number.isNaN)).toBe(true);
      expect((await errors.toTypedArray())[1]).toBeNaN();
      const asked = matrixPower(a, 0.5, { checkErrors: true });
      await expect(asked).rejects.toThrow(NotSemidefiniteError);
      for (const how of ITERATIONS) {
        const { result, infos, errors } = await matrixPower(a, -0.5, how);
        expect(await infos.toNested()).toEqual([0, -2, -1]);
        const [first, second, third] = await toDense(result);
        expect(norm1(minus(first!, identity(2)))).toBeLessThan(1e-14);
        for (const none of [second!, third!]) expect(none.data.every(Number.isNaN)).toBe(true);
        expect((await errors.toTypedArray())[2]).toBeNaN();
        const again = matrixPower(a, -0.5, { ...how, checkErrors: true });
        await expect(again).rejects.toThrow(NoConvergenceError);
      }
    });

    it.each(ITERATIONS)('ends each matrix of a batch where it has converged: %o', async (how) => {
      const mild = symmetricWith([1, 0.9, 0.8], 5);
      const hard = symmetricWith(geometric(3, 1e6), 6);
      const tiny = dense(3, 3, (i, j) => 1e-30 * at(mild, i, j));
      const huge = dense(3, 3, (i, j) => 1e30 * at(mild, i, j));
      for (const dtype of DTYPES) {
        const a = await toTensor([mild, hard, tiny, huge], dtype);
        const { result, infos } = await matrixPower(a, -0.25, how);
        // the squares of the third and the fourth are beyond float32
        expect(await infos.toNested()).toEqual([0, 0, 0, 0]);
        const { result: alone } = await matrixPower(await toTensor(mild, dtype), -0.25, how);
        const found = await toDense(result);
        // the slow one changed nothing in the others, but for how a GPU's library adds products of one matrix or several
        const own = await onlyMatrix(alone);
        if (a.device.kind === 'cpu') expect(found[0]!.data).toEqual(own.data);
        expect(norm1(minus(own, found[0]!)) / norm1(own)).toBeLessThan(8 * EPSILON[dtype]);
        const { result: byEigh } = await matrixPower(a, -0.25);
        (await toDense(byEigh)).forEach((truth, z) => {
          const off = norm1(minus(truth, found[z]!)) / norm1(truth);
          expect(off).toBeLessThan((z === 1 ? 1e6 : 100) * EPSILON[dtype]);
        });
      }
    });

    it.each(['newton', 'higherOrder'] as const)(
      'changes nothing once it has converged: %s',
      async (method) => {
        const all = Array.from({ length: 12 }, (_, k) =>
          symmetricWith(geometric(6, 10 ** (k / 2)), k),
        );
        for (const dtype of DTYPES) {
          const a = await toTensor(all, dtype);
          const once = await matrixPower(a, -0.25, { method, steps: 40 });
          const twice = await matrixPower(a, -0.25, { method, steps: 80 });
          expect(await once.infos.toNested()).toEqual(all.map(() => 0));
          expect(await twice.result.toNested()).toEqual(await once.result.toNested());
          expect(await twice.errors.toNested()).toEqual(await once.errors.toNested());
        }
      },
    );

    it('has no root where the steps do not suffice, and says how far it came', async () => {
      const a = await toTensor(symmetricWith(geometric(4, 1e6), 1), 'float64');
      for (const method of ['newton', 'higherOrder'] as const) {
        const few = await matrixPower(a, -0.25, { method, steps: 4 });
        expect(await few.infos.toNested()).toBe(-2);
        expect(Number(await few.errors.toNested())).toBeGreaterThan(0.1);
        expect((await onlyMatrix(few.result)).data.every(Number.isNaN)).toBe(true);
      }
      // the next order is there in fewer steps
      const newton = await matrixPower(a, -0.25, { method: 'newton', steps: 15 });
      const higher = await matrixPower(a, -0.25, { method: 'higherOrder', steps: 15 });
      expect([await newton.infos.toNested(), await higher.infos.toNested()]).toEqual([-2, 0]);
    });

    it('has no root of zeros without eps, and that of eps I with it', async () => {
      const a = await toTensor(
        dense(3, 3, () => 0),
        'float32',
      );
      for (const how of ITERATIONS) {
        expect(await (await matrixPower(a, -0.5, how)).infos.toNested()).toBe(-2);
        const { result } = await matrixPower(a, -0.5, { ...how, eps: 0.25 });
        const twice = dense(3, 3, (i, j) => (i === j ? 2 : 0));
        expect(norm1(minus(twice, await onlyMatrix(result)))).toBeLessThan(1e-5);
      }
    });

    it('reads one triangle and works in place', async () => {
      const a = symmetricWith([4, 1, 9], 2);
      for (const how of [{ method: 'eigh' }, ...ITERATIONS] as const) {
        const half = dense(3, 3, (i, j) => (i <= j ? at(a, i, j) : NaN));
        const given = await toTensor(half, 'float64');
        await matrixPower(given, -1, { ...how, uplo: 'upper', overwriteA: true });
        const product = times(await onlyMatrix(given), a);
        expect(norm1(minus(product, identity(3)))).toBeLessThan(1e-12);
      }
    });

    it.each([
      [NaN, {}, /power is NaN/],
      [-0.3, { method: 'newton' }, /-1\/k/],
      [0.5, { method: 'newton' }, /-1\/k/],
      [1, { eps: -1 }, /eps is -1/],
      [1, { method: 'taylor' }, /'eigh' or 'newton' or 'higherOrder'/],
      [-0.3, { method: 'higherOrder' }, /-1\/k/],
      [-0.5, { method: 'higherOrder', steps: 0 }, /steps is 0.*from 1 to 1000/],
      [-0.5, { method: 'newton', steps: 2.5 }, /steps is 2.5/],
      [-0.5, { steps: 10 }, /method 'eigh' has none/],
      [-0.5, { rounding: -1 }, /rounding is -1.*from 0 to less than 1/],
      [-0.5, { rounding: NaN }, /rounding is NaN/],
      [-0.5, { method: 'newton', rounding: 1e-7 }, /method 'newton' asks for no eigenvalues/],
    ] as const)('refuses power %s with %o', async (power, options, message) => {
      const a = await toTensor(identity(2), 'float32');
      await expect(matrixPower(a, power, options as never)).rejects.toThrow(message);
    });
  });

  describe(`kron and kronMatvec, ${where}`, () => {
    it('agree with the definition and with each other, whichever order is cheaper', async () => {
      const shapes = [
        [2, 3, 4, 1],
        [1, 5, 2, 3],
        [4, 1, 1, 4],
        [3, 3, 2, 2],
      ] as const;
      for (const dtype of DTYPES) {
        for (const [p, q, r, s] of shapes) {
          const a = rounded(randomMatrix(p, q, 1), dtype);
          const b = rounded(randomMatrix(r, s, 2), dtype);
          const x = rounded(randomMatrix(1, q * s, 3), dtype);
          const [ta, tb] = [await toTensor(a, dtype), await toTensor(b, dtype)];
          const truth = kronOf(a, b);
          const product = await onlyMatrix(await kron(ta, tb));
          expect(scaledError(truth, product, dtype)).toBeLessThan(THRESHOLD);
          const vector = (await toTensor(x, dtype)).reshape([q * s]);
          const y = await kronMatvec(ta, tb, vector);
          expect(y.shape).toEqual([p * r]);
          const found = {
            rows: p * r,
            columns: 1,
            data: Float64Array.from(await y.toTypedArray()),
          };
          expect(scaledError(times(truth, flip(x)), found, dtype)).toBeLessThan(THRESHOLD);
        }
      }
    });

    it('broadcast batches, and write into out', async () => {
      const a = await toTensor([randomMatrix(2, 2, 1), randomMatrix(2, 2, 2)], 'float64');
      const b = await toTensor(randomMatrix(3, 3, 3), 'float64');
      const both = await kron(a, b);
      expect(both.shape).toEqual([2, 6, 6]);
      const vectors = await toTensor(randomMatrix(2, 6, 4), 'float64');
      const out = await toTensor(randomMatrix(2, 6, 5), 'float64');
      expect(await kronMatvec(a, b, vectors, { out })).toBe(out);
      const products = await toDense(both);
      const x = await onlyMatrix(vectors);
      const y = await onlyMatrix(out);
      products.forEach((product, i) => {
        const truth = times(
          product,
          dense(6, 1, (k) => at(x, i, k)),
        );
        const found = dense(6, 1, (k) => at(y, i, k));
        expect(scaledError(truth, found, 'float64')).toBeLessThan(THRESHOLD);
      });
      const same = await toTensor(randomMatrix(2, 36, 4), 'float64');
      const view = same.reshape([2, 6, 6]);
      expect(await kron(a, b, { out: view })).toBe(view);
      expect(await same.toTypedArray()).toEqual(await both.toTypedArray());
    });

    it('refuse a vector of another length', async () => {
      const a = await toTensor(identity(2), 'float32');
      await expect(kronMatvec(a, a, a)).rejects.toThrow(/4 columns \(2 times 2\)/);
    });
  });
}
