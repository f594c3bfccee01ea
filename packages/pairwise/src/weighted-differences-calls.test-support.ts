import type { PairwiseDType } from '@mercer/kernels';
import {
  type Device,
  empty,
  type MercerErrorCode,
  planOf,
  tensor,
  type Tensor,
  zeros,
} from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  expectSums,
  operandsOf,
  uploadAll,
  type Uploaded,
} from './weighted-differences-cases.test-support.js';
import { weightedDifferences } from './index.js';
import { expectCode } from './matrices.test-support.js';

/** What `weightedDifferences` refuses, and that it writes nothing then. */
export function describeBadInput(device: () => Device): void {
  describe('bad input', () => {
    const make = (shape: number[]): Promise<Tensor<PairwiseDType>> =>
      zeros(shape, { dtype: 'float32', device: device() });
    const inputs = async (): Promise<Uploaded> =>
      [
        ...[await make([5, 4]), await make([3, 5])],
        ...[await make([2, 5]), await make([3, 4])],
      ] as unknown as Uploaded;
    /** What a program without type checks may pass. */
    const unchecked = weightedDifferences as unknown as (
      ...args: readonly unknown[]
    ) => Promise<Tensor>;

    it('names the axis that differs, in every operand', async () => {
      const [a, b, c, d] = await inputs();
      const wrong: readonly (readonly [Promise<Tensor>, string])[] = [
        [weightedDifferences(a, await make([3, 6]), c, d), 'K = 5'],
        [weightedDifferences(a, b, await make([2, 7]), d), 'K = 7'],
        [weightedDifferences(a, b, c, await make([3, 9])), 'M = 9'],
        [weightedDifferences(a, b, c, await make([8, 4])), 'N = 8'],
      ];
      for (const [promise, text] of wrong) {
        expect(await expectCode(promise, 'SHAPE_MISMATCH')).toContain(text);
      }
    });

    it('refuses rank 1 and batches that do not broadcast', async () => {
      const [a, b, c, d] = await inputs();
      expect(
        await expectCode(weightedDifferences(await make([5]), b, c, d), 'SHAPE_MISMATCH'),
      ).toContain('K, M');
      const message = await expectCode(
        weightedDifferences(await make([2, 5, 4]), await make([3, 3, 5]), c, d),
        'SHAPE_MISMATCH',
      );
      expect(message).toContain('do not broadcast');
      expect(a.disposed).toBe(false);
    });

    it('refuses mixed and unsupported dtypes', async () => {
      const [a, b, c, d] = await inputs();
      const wide = await zeros([3, 4], { dtype: 'float64', device: device() });
      expect(await expectCode(unchecked(a, b, c, wide), 'DTYPE_MISMATCH')).toContain(
        'd is float64',
      );
      const counts = await zeros([5, 5], { dtype: 'int32', device: device() });
      await expectCode(unchecked(counts, counts, counts, counts), 'DTYPE_MISMATCH');
      expect(d.disposed).toBe(false);
    });

    it.each([0, -1, NaN, Infinity])('refuses p = %d', async (p) => {
      const message = await expectCode(
        weightedDifferences(...(await inputs()), { p }),
        'INVALID_ARGUMENT',
      );
      expect(message).toContain(String(p));
    });

    it('refuses a tensor p of another dtype or length', async () => {
      const all = await inputs();
      const double = await tensor([2], { dtype: 'float64', device: device() });
      await expectCode(unchecked(...all, { p: double }), 'DTYPE_MISMATCH');
      const [a, ...rest] = all;
      const batched = await make([2, 5, 4]);
      const three = await tensor([1, 2, 3], { dtype: 'float32', device: device() });
      await expectCode(unchecked(batched, ...rest, { p: three }), 'SHAPE_MISMATCH');
      expect(a.disposed).toBe(false);
    });

    it('refuses a wrong out and leaves the inputs alone', async () => {
      const [a, b, c, d] = await inputs();
      await expectCode(
        weightedDifferences(a, b, c, d, { out: await make([2, 3, 5]) }),
        'SHAPE_MISMATCH',
      );
      const doubles = await zeros([2, 3, 4], { dtype: 'float64', device: device() });
      await expectCode(unchecked(a, b, c, d, { out: doubles }), 'DTYPE_MISMATCH');
      const spread = (await make([2, 3, 8])).slice(null, null, [null, null, 2]);
      await expectCode(weightedDifferences(a, b, c, d, { out: spread }), 'NOT_CONTIGUOUS');
      const backwards = (await make([2, 3, 4])).slice([null, null, -1]);
      await expectCode(weightedDifferences(a, b, c, d, { out: backwards }), 'NOT_CONTIGUOUS');
      const memory = await make([4, 3, 4]);
      const shared = memory.slice([0, 1]).reshape([3, 4]);
      const overlapping = memory.slice([0, 2]);
      await expectCode(weightedDifferences(a, b, c, shared, { out: overlapping }), 'OVERLAP');
      const one = await make([1, 3, 4]);
      await expectCode(
        weightedDifferences(a, b, c, d, { out: one.broadcastTo([2, 3, 4]) }),
        'OVERLAP',
      );
    });

    it('refuses disposed tensors', async () => {
      const [a, b, c] = await inputs();
      const gone = await make([3, 4]);
      gone.dispose();
      await expectCode(weightedDifferences(a, b, c, gone), 'DISPOSED');
    });
  });
}

/** What a prepared call promises. */
export function describePrepare(device: () => Device): void {
  describe('prepare', () => {
    it('fixes dtype and p, and leaves all sizes free', async () => {
      for (const p of [2, 1.3]) {
        const like = operandsOf({ m: 16, n: 8, o: 4, k: 20 }, 1);
        const prepared = await weightedDifferences.prepare(
          ...(await uploadAll(like, 'float32', device())),
          {
            p,
          },
        );
        expect(prepared.plan.summary).toMatch(/^cdist-grad/);
        for (const sizes of [
          { m: 16, n: 8, o: 4, k: 20 },
          { m: 7, n: 3, o: 17, k: 33, batch: 2, own: ['a' as const] },
        ]) {
          const operands = operandsOf(sizes, 2);
          const inputs = await uploadAll(operands, 'float32', device());
          const fresh = prepared(...inputs);
          await expectSums(fresh, operands, p);
          const out = empty(fresh.shape, { dtype: 'float32', device: device() });
          expect(prepared(...inputs, { out })).toBe(out);
          expect(planOf(out)?.summary).toMatch(/^cdist-grad/);
          await expectSums(out, operands, p);
        }
      }
    });

    it('takes another tensor p where it was prepared with one', async () => {
      const operands = operandsOf({ m: 6, n: 4, o: 3, k: 9, batch: 2, own: ['b'] }, 3);
      const inputs = await uploadAll(operands, 'float32', device());
      const first = await tensor([1.5], { dtype: 'float32', device: device() });
      const prepared = await weightedDifferences.prepare(...inputs, { p: first });
      await expectSums(prepared(...inputs), operands, 1.5);
      const second = await tensor([0.75, 3], { dtype: 'float32', device: device() });
      await expectSums(prepared(...inputs, { p: second }), operands, [0.75, 3]);
    });

    it('refuses what it was not prepared for', async () => {
      const operands = operandsOf({ m: 4, n: 3, o: 2, k: 5 }, 1);
      const [a, b, c, d] = await uploadAll(operands, 'float32', device());
      const prepared = await weightedDifferences.prepare(a, b, c, d, { p: 2 });
      const refuse = async (run: () => unknown, code: MercerErrorCode): Promise<void> => {
        await expectCode((async () => run())(), code);
      };
      const [w, x, y, z] = await uploadAll(operands, 'float64', device());
      await refuse(() => prepared(w, x, y, z), 'DTYPE_MISMATCH');
      const turned = (await a.transpose().clone()).transpose();
      await refuse(() => prepared(turned, b, c, d), 'NOT_CONTIGUOUS');
      const p = await tensor([3], { dtype: 'float32', device: device() });
      await refuse(() => prepared(a, b, c, d, { p }), 'INVALID_ARGUMENT');
      await refuse(() => prepared(a, b, c, c), 'SHAPE_MISMATCH');
    });
  });
}
