import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { lazyI, lazyJ } from '@mercer/lazy';
import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { cg, denseOperator, logdet, pivotedCholesky, type LinearOperator } from '../index.js';

type Numbers = Tensor<'float64'>;

interface Grid {
  readonly width: number;
  readonly values: readonly number[];
}

/** Heights of Maunga Whau by column and row (npm package vega-datasets, BSD-3-Clause): all but each fifth, scaled to mean 0 and standard deviation 1. */
function trainingRows(): number[][] {
  const require = createRequire(import.meta.url);
  const file = require.resolve('vega-datasets/data/volcano.json');
  const { width, values } = JSON.parse(readFileSync(file, 'utf8')) as Grid;
  const rows = values
    .map((height, at) => [at % width, Math.floor(at / width), height])
    .filter((_, at) => at % 5 !== 0);
  const columns = [0, 1, 2].map((c) => rows.map((row) => row[c] as number));
  const scales = columns.map((column) => {
    const mean = column.reduce((total, one) => total + one, 0) / column.length;
    const square = column.reduce((total, one) => total + (one - mean) ** 2, 0) / column.length;
    return [mean, Math.sqrt(square)] as const;
  });
  return rows.map((row) =>
    row.map((one, c) => (one - (scales[c]?.[0] ?? 0)) / (scales[c]?.[1] ?? 1)),
  );
}

const NOISE = 1e-3;
const LENGTH = 0.2;
/** Of a Gaussian process with a Matern kernel of order 5/2, by a dense Cholesky factorisation in float64 (scikit-learn 1.9.1). */
const LOG_LIKELIHOOD = 5332.653;

/**
 * Ranks of other preconditioners (0: none), with the steps to 1e-2 and to 1e-8 of plain loops in float64. They are thousands of products of a stored matrix: on a CPU with
 * MERCER_TEST_FULL=1.
 */
const otherSteps = ({ kind }: Device) =>
  kind === 'cuda' || process.env['MERCER_TEST_FULL'] === '1'
    ? ([
        [0, 299, 1625],
        [15, 542, 1662],
        [100, 294, 855],
      ] as const)
    : [];

/** A Gaussian process on 4245 heights: steps and likelihood. */
export function volcanoSuite(name: string, place: () => Device): void {
  describe(`a Gaussian process on heights of a volcano, on ${name}`, () => {
    let kernel: LinearOperator<'float64'>;
    let shifted: LinearOperator<'float64'>;
    let y: Numbers;
    let exact: number;
    let preconditioner: LinearOperator<'float64'>;
    beforeAll(async () => {
      const where = { device: place(), dtype: 'float64' } as const;
      const rows = trainingRows();
      const n = rows.length;
      expect(n).toBe(4245);
      const x = await tensor(rows.map(([a = 0, b = 0]) => [a, b]), where); // prettier-ignore
      y = await tensor(rows.map((row) => row[2] as number), where); // prettier-ignore
      const s = lazyI(x).sqdist(lazyJ(x)).mul(5 / LENGTH ** 2).sqrt(); // prettier-ignore
      const values = await s.add(1).add(s.mul(s).div(3)).mul(s.neg().exp()).toDense();
      kernel = denseOperator(values.reshape([n, n]));
      shifted = kernel.shift(NOISE);
      const { logAbs } = await logdet(await shifted.dense(), { method: 'cholesky' });
      exact = await logAbs.item();
      preconditioner = await pivotedCholesky(kernel, { rank: 500, shift: NOISE });
    }, 300_000);

    it('needs the steps that are known, and has the likelihood that is known', async () => {
      const rough = await cg(shifted, y, { rtol: 1e-2, preconditioner });
      expect(rough.converged).toBe(true);
      expect(Math.abs(rough.iterations - 61)).toBeLessThanOrEqual(2);
      const { x, converged, iterations } = await cg(shifted, y, { rtol: 1e-8, preconditioner });
      expect(converged).toBe(true);
      expect(Math.abs(iterations - 175)).toBeLessThanOrEqual(2);
      const n = 4245;
      const fit = await (await x.mul(y).sum()).item();
      const found = -0.5 * (fit + exact + n * Math.log(2 * Math.PI));
      expect(Math.abs(found / LOG_LIKELIHOOD - 1)).toBeLessThan(1e-6);
    }, 300_000);

    it.each(otherSteps(place()))(
      'needs the steps that are known with a preconditioner of rank %d',
      async (rank, rough, fine) => {
        using low = rank === 0 ? undefined : await pivotedCholesky(kernel, { rank, shift: NOISE });
        for (const [rtol, steps] of [
          [1e-2, rough],
          [1e-8, fine],
        ] as const) {
          const { converged, iterations } = await cg(shifted, y, { rtol, preconditioner: low });
          expect(converged).toBe(true);
          // residuals jump by half from step to step, and rounding decides which of them is the first below
          expect(Math.abs(iterations / steps - 1)).toBeLessThan(0.05);
        }
      },
      600_000,
    );

    it('logdet is within its standard errors, which a preconditioner makes half as large', async () => {
      const found = await logdet(shifted, { key: random.key(1), preconditioner });
      expect(found.converged).toBe(true);
      const value = await found.value.item();
      expect(Math.abs(value - exact)).toBeLessThan(3 * found.standardError);
      // of 4245 numbers between the logarithms of 86 and of 0.001
      expect(found.standardError).toBeLessThan(45);
      const few = await logdet(shifted, { key: random.key(1), steps: 20 });
      expect(few.converged).toBe(false);
      expect(await few.value.item()).toBeGreaterThan(exact + 20 * few.standardError);
    }, 300_000);
  });
}
