import { empty, MercerError, tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { CALL_MISTAKES } from './call-mistakes.test-support.js';
import { LazyError, lazyI, lazyJ, param } from './index.js';
import { MATRIX_MISTAKES } from './matrix-mistakes.test-support.js';
import { PAIR_MISTAKES } from './pair-mistakes.test-support.js';
import { TEXT_MISTAKES } from './text-mistakes.test-support.js';

const CASES = [...MATRIX_MISTAKES, ...PAIR_MISTAKES, ...CALL_MISTAKES, ...TEXT_MISTAKES].map(
  ([what, run, code, ...says]) => ({
    what,
    run,
    code,
    says,
  }),
);

/** What the caller can get wrong, and what the errors say. */
export function describeBadInput(device: () => Device): void {
  describe('bad input', () => {
    it.each(CASES)('$what', async ({ run, code, says }) => {
      const x = await tensor(
        [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        { device: device(), dtype: 'float32' },
      );
      const y = await tensor(
        [
          [1, 2],
          [3, 4],
          [5, 6],
          [7, 8],
        ],
        { device: device(), dtype: 'float32' },
      );
      const d = lazyI(x, { name: 'x' }).sqdist(lazyJ(y, { name: 'y' }));
      const error: unknown = await Promise.resolve()
        .then(() => run({ x, y, d }))
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      expect(error instanceof LazyError || error instanceof MercerError, String(error)).toBe(true);
      expect((error as LazyError).code).toBe(code);
      for (const text of says) expect((error as LazyError).message).toMatch(text);
    });

    it('keeps nothing of a call that failed', async () => {
      const x = await tensor([[1, 2]], { device: device() });
      const sums = lazyI(x).mul(lazyJ([[1, 2]]));
      const out = empty([1, 3], { device: device() });
      const kept = await memoryKept(device(), async () => {
        await expect(sums.sum('j', { out })).rejects.toThrow(MercerError);
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('names parameters too', () => {
      expect(() => param([1, 2], { name: 'p' }).add(lazyI([[1, 2, 3]], { name: 'x' }))).toThrow(
        /p \(parameter, number data \[1, 2\]\) of dim 2; x \(i-variable/,
      );
    });
  });
}
