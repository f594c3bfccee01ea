import { lazyI, lazyJ } from '@mercer/lazy';
import { eigh } from '@mercer/linalg';
import { random, tensor, type Device } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  denseOperator,
  jacobi,
  logdet,
  nystrom,
  pivotedCholesky,
  trace,
  type LinearOperator,
  type LogdetEstimateOptions,
  type TraceOptions,
} from '../index.js';
import { float64, gaussian, matrixOf, pointsOf } from './systems.test-support.js';

const N = 60;
const SHIFT = 0.3;
const matrix = gaussian(pointsOf(N), SHIFT);
const key = random.key(7);
/** Keys of the tests of standard errors. */
const KEYS = 100;

/**
 * The share of estimates within one standard error that there is to be for random vectors whose mean is nearly normal: of Student's distribution
 * with 9 degrees of freedom 65.7 %, and 3.3 times the standard deviation of the share about it.
 */
const HONEST = [0.5, 0.814] as const;

/** Determinants and traces against eigenvalues in float64. */
export function estimatesSuite(name: string, place: () => Device): void {
  let device: Device;
  let kernel: LinearOperator<'float64'>;
  let shifted: LinearOperator<'float64'>;
  let expected: number;
  beforeAll(async () => {
    device = place();
    const x = await float64(pointsOf(N), device);
    kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
    shifted = kernel.shift(SHIFT);
    const { values } = await eigh(await tensor(matrix, { device: 'cpu', dtype: 'float64' }));
    const all = await values.toNested<number[]>();
    expected = all.reduce((total, one) => total + Math.log(one), 0);
  });

  /** The share of keys whose estimate is within one standard error, and how far the mean of all is, by its own. */
  async function honesty(
    truth: number,
    call: (
      key: random.RandomKey,
    ) => Promise<{ readonly value: number; readonly standardError: number }>,
  ): Promise<{ readonly share: number; readonly distance: number; readonly spread: number }> {
    const all = [];
    for (const one of random.split(key, KEYS)) all.push(await call(one));
    const within = all.filter((one) => Math.abs(one.value - truth) <= one.standardError).length;
    const mean = all.reduce((total, one) => total + one.value, 0) / KEYS;
    const variance = all.reduce((total, one) => total + (one.value - mean) ** 2, 0) / (KEYS - 1);
    const said = all.reduce((total, one) => total + one.standardError ** 2, 0) / KEYS;
    return {
      share: within / KEYS,
      distance: Math.abs(mean - truth) / Math.sqrt(variance / KEYS),
      spread: said / variance,
    };
  }

  describe(`logdet on ${name}`, () => {
    const of = async (
      a: LinearOperator<'float64'>,
      options: Partial<LogdetEstimateOptions<'float64'>> = {},
    ) => {
      const found = await logdet(a, { key, ...options });
      return { ...found, value: await found.value.item() };
    };

    it('is within its standard error about two times in three, and right in the mean', async () => {
      const dense = denseOperator(await float64(matrix, device));
      const { share, distance, spread } = await honesty(expected, (one) =>
        of(dense, { key: one, steps: 20 }),
      );
      expect(share).toBeGreaterThan(HONEST[0]);
      expect(share).toBeLessThan(HONEST[1]);
      expect(distance).toBeLessThan(3.3);
      // the variance that it says, over the one that there is
      expect(spread).toBeGreaterThan(0.7);
      expect(spread).toBeLessThan(1.4);
    });

    it.each([
      ['pivotedCholesky', () => pivotedCholesky(kernel, { rank: 6, shift: SHIFT })],
      ['nystrom', () => nystrom(kernel, { rank: 12, shift: SHIFT, key: random.key(2) })],
    ] as const)('with %s is as honest, and nearer', async (_, make) => {
      const dense = denseOperator(await float64(matrix, device));
      using preconditioner = await make();
      const plain = await of(shifted);
      const found = await of(shifted, { preconditioner });
      expect(found.standardError).toBeLessThan(plain.standardError / 3);
      const { share, distance } = await honesty(expected, (one) =>
        of(dense, { key: one, preconditioner, steps: 10 }),
      );
      expect(share).toBeGreaterThan(HONEST[0]);
      expect(share).toBeLessThan(HONEST[1]);
      expect(distance).toBeLessThan(3.3);
    });

    it('with jacobi takes the diagonal exactly', async () => {
      const scales = Array.from({ length: N }, (_, at) => 10 ** ((at % 7) - 2));
      const scaled = matrix.map((row, i) =>
        row.map((one, j) => one * (scales[i] as number) * (scales[j] as number)),
      );
      const a = denseOperator(await float64(scaled, device));
      using preconditioner = await jacobi(a);
      const truth = expected + 2 * scales.reduce((total, one) => total + Math.log(one), 0);
      const found = await of(a, { preconditioner, steps: N });
      const unscaled = await of(denseOperator(await float64(matrix, device)), { steps: N });
      expect(Math.abs(found.value - truth)).toBeLessThan(5 * found.standardError);
      expect(found.standardError / unscaled.standardError).toBeCloseTo(1, 3);
    });

    it('of a diagonal matrix is exact, whatever the signs', async () => {
      const values = Array.from({ length: 20 }, (_, at) => 1 + (at % 5));
      const diagonal = values.map((one, i) => values.map((_, j) => (i === j ? one : 0)));
      const found = await of(denseOperator(await float64(diagonal, device)));
      const truth = values.reduce((total, one) => total + Math.log(one), 0);
      expect(Math.abs(found.value - truth)).toBeLessThan(1e-12);
      expect(found.standardError).toBeLessThan(1e-12);
      expect(found.converged).toBe(true);
    });

    it('is the mean of the forms of its own signs, to less than its error', async () => {
      // the mean of n u . log(A) u with the same signs, by eigenvectors
      const found = await of(denseOperator(await float64(matrix, device)), { steps: N, probes: 3 });
      const drawn = await random.uniform([N, 3], { key, device: 'cpu', dtype: 'float64' });
      const signs = (await drawn.toNested<number[][]>()).map((row) =>
        row.map((one) => (one < 0.5 ? -1 : 1)),
      );
      const { values, vectors } = await eigh(
        await tensor(matrix, { device: 'cpu', dtype: 'float64' }),
      );
      const [theta, v] = [await values.toNested<number[]>(), await vectors.toNested<number[][]>()];
      const forms = [0, 1, 2].map((p) =>
        theta.reduce((total, one, k) => {
          const along = signs.reduce(
            (sum, row, i) => sum + (row[p] as number) * (v[i]?.[k] as number),
            0,
          );
          return total + along * along * Math.log(one);
        }, 0),
      );
      const mean = forms.reduce((total, one) => total + one, 0) / 3;
      const deviation = Math.sqrt(forms.reduce((total, one) => total + (one - mean) ** 2, 0) / 6);
      expect(Math.abs(found.value - mean)).toBeLessThan(0.1 * found.standardError);
      expect(found.standardError / deviation).toBeCloseTo(1, 3);
    });

    it('says where steps are too few, which makes it too high', async () => {
      const found = await of(kernel.shift(1e-6), { steps: 4 });
      expect([found.converged, found.steps]).toEqual([false, 4]);
      const enough = await of(kernel.shift(1e-2), { steps: N });
      expect(enough.converged).toBe(true);
      expect((await of(kernel.shift(1e-2), { steps: 4 })).value).toBeGreaterThan(enough.value);
    });

    it('float32 is as near as its standard error', async () => {
      const single = denseOperator(await tensor(matrix, { device, dtype: 'float32' }));
      const { value, standardError } = await logdet(single, { key });
      expect(value.dtype).toBe('float32');
      expect(Math.abs((await value.item()) - expected)).toBeLessThan(4 * standardError);
    });

    it('of a matrix is that of linalg, also prepared', async () => {
      const a = await float64(matrix, device);
      const { sign, logAbs } = await logdet(a, { method: 'cholesky' });
      expect(await sign.item()).toBe(1);
      expect(Math.abs((await logAbs.item()) - expected)).toBeLessThan(1e-10);
      const prepared = await logdet.prepare(a);
      expect(await prepared(a).logAbs.item()).toBeCloseTo(expected, 8);
    });

    it.each([
      ['an indefinite operator', () => shifted.shift(-1), 'INDEFINITE'],
      ['the operator 0', () => kernel.scale(0), 'INDEFINITE'],
      ['NaN', () => kernel.scale(NaN), 'NOT_FINITE'],
    ] as const)('of %s is refused', async (_, make, code) => {
      await expect(logdet(make(), { key })).rejects.toMatchObject({ code });
    });

    it('of an operator that is not symmetric is refused', async () => {
      const a = denseOperator(await float64(matrixOf(N, N), device)).shift(50);
      await expect(logdet(a, { key })).rejects.toMatchObject({ code: 'ASYMMETRIC' });
    });

    it('keeps no memory, also where it is aborted', async () => {
      using preconditioner = await pivotedCholesky(kernel, { rank: 4, shift: SHIFT });
      const call = async (): Promise<void> => {
        (await logdet(shifted, { key })).value.dispose();
        (await logdet(shifted, { key, preconditioner })).value.dispose();
        const signal = AbortSignal.abort(new Error('enough'));
        await expect(logdet(shifted, { key, signal })).rejects.toThrow('enough');
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });

  describe(`trace on ${name}`, () => {
    const of = async (a: LinearOperator<'float64'>, options: Partial<TraceOptions> = {}) => {
      const { value, standardError } = await trace(a, { key, ...options });
      return { value: await value.item(), standardError };
    };

    it.each([
      ['hutchinson', 10],
      // a third of the products are random vectors beside the largest part
      ['hutch++', 30],
    ] as const)('by %s is as honest as it says', async (method, probes) => {
      const slow = gaussian(pointsOf(N).map(([one = 0]) => [20 * one]));
      const dense = denseOperator(await float64(slow, device));
      const { share, distance } = await honesty(N, (one) =>
        of(dense, { key: one, method, probes }),
      );
      expect(share).toBeGreaterThan(HONEST[0]);
      expect(share).toBeLessThan(HONEST[1]);
      expect(distance).toBeLessThan(3.3);
    });

    it('hutch++ is far nearer where eigenvalues fall fast', async () => {
      const [plain, better] = [await of(kernel, { method: 'hutchinson' }), await of(kernel)];
      expect(better.standardError).toBeLessThan(plain.standardError / 50);
      expect(Math.abs(better.value - N)).toBeLessThan(5 * better.standardError + 1e-9);
    });

    it('is exact where the products span the operator', async () => {
      const low = await float64(matrixOf(N, 4), device);
      const gram = denseOperator(low).gram();
      const found = await of(gram);
      const exact = matrixOf(N, 4)
        .flat()
        .reduce((total, one) => total + one * one, 0);
      expect(Math.abs(found.value - exact)).toBeLessThan(1e-12 * exact);
      expect(found.standardError).toBeLessThan(1e-12 * exact);
      const small = await of(denseOperator(await float64([[1, 2], [3, 4]], device))); // prettier-ignore
      expect(small.value).toBeCloseTo(5, 12);
      expect(small.standardError).toBe(0);
    });

    it('of the operator 0 is 0, of NaN refused', async () => {
      expect(await of(kernel.scale(0))).toEqual({ value: 0, standardError: 0 });
      await expect(trace(kernel.scale(NaN), { key })).rejects.toMatchObject({ code: 'NOT_FINITE' });
    });

    it('keeps no memory', async () => {
      const call = async (): Promise<void> => {
        (await trace(shifted, { key })).value.dispose();
        (await trace(shifted, { key, method: 'hutchinson' })).value.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
