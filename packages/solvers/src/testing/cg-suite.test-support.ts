import { lazyI, lazyJ } from '@mercer/lazy';
import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  cg,
  denseOperator,
  jacobi,
  nystrom,
  operator,
  pivotedCholesky,
  type LinearOperator,
} from '../index.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  norms,
  pointsOf,
  residualNorms,
  solved,
  times,
  transposed,
  type Matrix,
} from './systems.test-support.js';

const N = 40;
const SHIFT = 0.05;
const points = pointsOf(N);
const matrix = gaussian(points, SHIFT);
const rightHandSides = matrixOf(N, 3);

/** Conjugate gradients against elimination and true residuals by plain loops. */
export function cgSuite(name: string, place: () => Device): void {
  describe(`cg on ${name}`, () => {
    let device: Device;
    let kernel: LinearOperator<'float64'>;
    let dense: LinearOperator<'float64'>;
    let b: Tensor<'float64'>;
    beforeAll(async () => {
      device = place();
      const x = await float64(points, device);
      kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
      dense = denseOperator(await float64(matrix, device));
      b = await float64(rightHandSides, device);
    });

    it('solves every column, and says its true residual', async () => {
      const found = await cg(kernel.shift(SHIFT), b, { rtol: 1e-9 });
      const x = await nested(found.x);
      expect(difference(x, solved(matrix, rightHandSides))).toBeLessThan(1e-6);
      const scales = norms(rightHandSides);
      for (const [k, norm] of residualNorms(matrix, x, rightHandSides).entries()) {
        const { converged, iterations, residual } = found.columns[k] as (typeof found.columns)[0];
        const truth = norm / (scales[k] as number);
        expect(converged).toBe(true);
        expect(truth).toBeLessThanOrEqual(1e-9);
        expect(Math.abs(residual - truth)).toBeLessThan(1e-12);
        expect(iterations).toBeGreaterThan(5);
      }
      expect(found.converged).toBe(true);
      expect(found.iterations).toBe(Math.max(...found.columns.map((one) => one.iterations)));
      expect(found.residual).toBe(Math.max(...found.columns.map((one) => one.residual)));
    });

    it('one right-hand side has the shape that it was given, and the solution that it has among others', async () => {
      const { x } = await cg(dense, b, { rtol: 1e-9 });
      const alone = await cg(dense, b.slice(null, 1), { rtol: 1e-9 });
      expect(alone.x.shape).toEqual([N]);
      const column = (await nested(x)).map((row) => row[1] as number);
      expect(difference([await alone.x.toNested<number[]>()], [column])).toBeLessThan(1e-6);
    });

    it('a column that is done does not move while others go on', async () => {
      const ones = matrix.map(() => [1]);
      const easy = times(matrix, ones).map(([one = 0]) => one);
      const beside = async (other: (i: number) => number) => {
        const right = easy.map((one, i) => [one, other(i)]);
        return cg(dense, await float64(right, device), { rtol: 1e-4 });
      };
      const among = await beside((i) => rightHandSides[i]?.[1] ?? 0);
      const alike = await beside((i) => easy[i] as number);
      expect(among.columns[0]).toEqual(alike.columns[0]);
      const [first, second] = among.columns;
      expect(second?.iterations).toBeGreaterThan((first?.iterations ?? Infinity) + 2);
      const columnOf = async (x: Tensor): Promise<(number | undefined)[]> =>
        (await nested(x)).map((row) => row[0]);
      expect(await columnOf(among.x)).toEqual(await columnOf(alike.x));
    });

    it('is not done where only the residual of the recurrence is small enough', async () => {
      const single = await tensor(matrix, { device, dtype: 'float32' });
      const right = await tensor(rightHandSides, { device, dtype: 'float32' });
      const found = await cg(denseOperator(single), right, { rtol: 1e-10 });
      const truth = residualNorms(matrix, await nested(found.x), rightHandSides);
      for (const [k, { converged, residual }] of found.columns.entries()) {
        expect(converged).toBe(false);
        expect(residual).toBeGreaterThan(1e-9);
        expect(residual).toBeLessThan(1e-3);
        expect((truth[k] as number) / (norms(rightHandSides)[k] as number)).toBeLessThan(1e-3);
      }
    });

    it('float32 is done at 1e-4 by the true residual', async () => {
      const single = await tensor(matrix, { device, dtype: 'float32' });
      const right = await tensor(rightHandSides, { device, dtype: 'float32' });
      const { x, converged, residual } = await cg(denseOperator(single), right);
      expect([x.dtype, converged]).toEqual(['float32', true]);
      const truth = residualNorms(matrix, await nested(x), rightHandSides);
      for (const [k, norm] of truth.entries())
        expect(norm / (norms(rightHandSides)[k] as number)).toBeLessThan(1.01e-4);
      expect(residual).toBeLessThanOrEqual(1e-4);
    });

    it('a right-hand side of zeros has the solution 0, whatever x0 is', async () => {
      const right = rightHandSides.map(([first = 0]) => [first, 0]);
      const x0 = await float64(matrixOf(N, 2, 9), device);
      const found = await cg(dense, await float64(right, device), { x0, rtol: 1e-9 });
      expect(found.columns[1]).toEqual({ converged: true, iterations: 0, residual: 0 });
      expect((await nested(found.x)).map((row) => row[1])).toEqual(Array(N).fill(0));
      expect(difference(await nested(found.x), solved(matrix, right))).toBeLessThan(1e-6);
    });

    it('begins at x0', async () => {
      const x0 = await float64(solved(matrix, rightHandSides), device);
      const { iterations, converged } = await cg(dense, b, { x0 });
      expect([iterations, converged]).toEqual([0, true]);
    });

    it('atol is enough where rtol is not reached', async () => {
      const { converged, residual } = await cg(dense, b, { rtol: 0, atol: 1e-3 });
      expect(converged).toBe(true);
      expect(residual).toBeGreaterThan(1e-9);
    });

    it('has no more than maxIterations, and says that it has not converged', async () => {
      for (const maxIterations of [0, 1, 7, 23]) {
        const found = await cg(dense, b, { rtol: 1e-14, maxIterations });
        expect(found.converged).toBe(false);
        expect(found.columns.map((one) => one.iterations)).toEqual([
          maxIterations,
          maxIterations,
          maxIterations,
        ]);
        const truth = residualNorms(matrix, await nested(found.x), rightHandSides);
        const scales = norms(rightHandSides);
        for (const [k, norm] of truth.entries())
          expect(found.columns[k]?.residual).toBeCloseTo(norm / (scales[k] as number), 10);
      }
    });

    it('a tolerance out of reach ends by stagnation, long before maxIterations', async () => {
      const found = await cg(dense, b, { rtol: 1e-30, maxIterations: 100_000 });
      expect(found.converged).toBe(false);
      expect(found.iterations).toBeLessThan(1000);
      expect(found.residual).toBeLessThan(1e-13);
    });

    it('where float32 cannot reach the tolerance, a preconditioned solve stagnates too', async () => {
      const key = random.key(1);
      using x = await random.uniform([400, 3], { key, device });
      using ones = await random.uniform([400], { key: random.key(2), device });
      const smooth = lazyI(x).sqdist(lazyJ(x)).mul(-3).exp().asOperator({ sumScheme: 'kahan' });
      using preconditioner = await pivotedCholesky(smooth, { rank: 100, shift: 1e-3 });
      const found = await cg(smooth.shift(1e-3), ones, { preconditioner, maxIterations: 1500 });
      expect(found.converged).toBe(false);
      expect(found.iterations).toBeLessThan(600);
      expect(found.residual).toBeLessThan(0.05);
    });

    it('an inconsistent singular system ends without a solution', async () => {
      const singular = denseOperator(
        await float64(
          [
            [1, 0],
            [0, 0],
          ],
          device,
        ),
      );
      const right = await tensor([1, 1], { device, dtype: 'float64' });
      await expect(cg(singular, right)).rejects.toMatchObject({
        code: 'INDEFINITE',
        message: expect.stringContaining('p . A p is 0 of column 0 at iteration 2') as string,
      });
    });

    it('an indefinite operator throws, with the figure and the column', async () => {
      const indefinite = denseOperator(
        await float64(
          [
            [1, 0],
            [0, -2],
          ],
          device,
        ),
      );
      const right = await float64(
        [
          [1, 0],
          [0, 3],
        ],
        device,
      );
      await expect(cg(indefinite, right)).rejects.toMatchObject({
        name: 'SolverError',
        code: 'INDEFINITE',
        message: expect.stringContaining('p . A p is -18 of column 1 at iteration 1') as string,
        failure: { column: 1, iteration: 1, figure: -18 },
      });
    });

    it('a preconditioner that is not positive throws', async () => {
      const preconditioner = (r: Tensor): Promise<Tensor> => r.neg();
      await expect(cg(dense, b, { preconditioner })).rejects.toMatchObject({
        code: 'BAD_PRECONDITIONER',
      });
    });

    it.each<[string, (d: Device) => Promise<unknown>, string]>([
      [
        'the right-hand side',
        async (d) =>
          cg(
            denseOperator(await float64([[1]], d)),
            await tensor([NaN], { device: d, dtype: 'float64' }),
          ),
        'the right-hand side',
      ],
      [
        'the operator',
        async (d) =>
          cg(
            denseOperator(await float64([[NaN]], d)),
            await tensor([1], { device: d, dtype: 'float64' }),
          ),
        'a product',
      ],
    ])('NaN of %s throws', async (_, call, said) => {
      await expect(call(device)).rejects.toMatchObject({
        code: 'NOT_FINITE',
        message: expect.stringContaining(said) as string,
      });
    });

    it('gives what the operator throws, and keeps no memory', async () => {
      const failing = (): LinearOperator<'float64'> => {
        let calls = 0;
        return operator({
          shape: [N, N],
          dtype: 'float64',
          device,
          matvec: async (v) => {
            if (++calls === 5) throw new RangeError('no more');
            return dense.matvec(v);
          },
        });
      };
      const call = (): Promise<unknown> => expect(cg(failing(), b)).rejects.toThrow('no more');
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });

    it('stops when it is aborted in mid-solve, and keeps no memory', async () => {
      const call = async (): Promise<void> => {
        const controller = new AbortController();
        const seen: number[] = [];
        const onIteration = ({ iterations }: { readonly iterations: number }): void => {
          seen.push(iterations);
          if (seen.length === 2) controller.abort(new Error('enough'));
        };
        const options = { rtol: 1e-14, signal: controller.signal, onIteration };
        await expect(cg(dense, b, options)).rejects.toThrow('enough');
        expect(seen).toHaveLength(2);
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
      await expect(
        cg(dense, b, { signal: AbortSignal.abort(new Error('before')) }),
      ).rejects.toThrow('before');
    });

    it('tells its progress, and keeps no memory beside x', async () => {
      const seen: number[] = [];
      const call = async (): Promise<void> => {
        const { x } = await cg(dense, b, {
          rtol: 1e-9,
          onIteration: ({ residual }) => seen.push(residual),
        });
        x.dispose();
      };
      await call();
      expect(seen[0]).toBe(1);
      expect(seen.at(-1)).toBeLessThan(1e-9);
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });

    describe('preconditioners', () => {
      const scaled = matrix.map((row, i) =>
        row.map((one, j) => one * 10 ** (((i % 7) + (j % 7)) / 3)),
      );

      /** The matrix that a preconditioner is. */
      const matrixOfIt = async (one: LinearOperator<'float64'>): Promise<Matrix> =>
        nested(await one.dense());

      it('jacobi divides by the diagonal, and needs fewer iterations where that varies', async () => {
        const a = denseOperator(await float64(scaled, device));
        using preconditioner = await jacobi(a);
        const expected = scaled.map((row, i) => row.map((one, j) => (i === j ? 1 / one : 0)));
        expect(difference(await matrixOfIt(preconditioner), expected)).toBeLessThan(1e-14);
        const [plain, better] = [
          await cg(a, b, { rtol: 1e-8 }),
          await cg(a, b, { rtol: 1e-8, preconditioner }),
        ];
        expect(better.iterations).toBeLessThan(0.7 * plain.iterations);
        expect(difference(await nested(better.x), solved(scaled, rightHandSides))).toBeLessThan(
          1e-5,
        );
      });

      it('pivotedCholesky is the inverse of the partial factor and the shift', async () => {
        using one = await pivotedCholesky(kernel, { rank: 6, shift: SHIFT });
        const low = partialCholesky(gaussian(points), 6);
        const approximation = low.map((row, i) =>
          low.map(
            (other, j) =>
              row.reduce((sum, value, k) => sum + value * (other[k] as number), 0) +
              (i === j ? SHIFT : 0),
          ),
        );
        const identity = low.map((_, i) => low.map((__, j) => Number(i === j)));
        expect(difference(await matrixOfIt(one), solved(approximation, identity))).toBeLessThan(
          1e-10,
        );
      });

      it('nystrom is what its formula says of the same random vectors, or of the same columns', async () => {
        const key = random.key(3);
        using one = await nystrom(kernel, { rank: 6, shift: SHIFT, key });
        const drawn = await nested(await random.normal([N, 6], { key, dtype: 'float64', device }));
        using other = await nystrom(kernel, { rank: 6, shift: SHIFT, key, columns: true });
        const chosen = await random.choice(N, [6], { key, replace: false, device });
        const places = await chosen.toNested<number[]>();
        const units = points.map((_, i) => places.map((place) => Number(place === i)));
        for (const [found, vectors] of [
          [one, drawn],
          [other, units],
        ] as const) {
          const expected = nystromOf(gaussian(points), vectors, SHIFT);
          expect(difference(await matrixOfIt(found), expected)).toBeLessThan(1e-6);
        }
      });

      it('both need far fewer iterations', async () => {
        const system = kernel.shift(1e-3);
        const { iterations } = await cg(system, b, { rtol: 1e-8 });
        using first = await pivotedCholesky(kernel, { rank: 10, shift: 1e-3 });
        using second = await nystrom(kernel, { rank: 12, shift: 1e-3, key: random.key(3) });
        for (const preconditioner of [first, second]) {
          const found = await cg(system, b, { rtol: 1e-8, preconditioner });
          expect(found.converged).toBe(true);
          expect(found.iterations).toBeLessThan(0.5 * iterations);
        }
      });

      it('a function is a preconditioner', async () => {
        const inverse = solved(
          matrix,
          matrix.map((_, i) => matrix.map((__, j) => Number(i === j))),
        );
        const exact = denseOperator(await float64(inverse, device));
        const { iterations } = await cg(dense, b, { preconditioner: (r) => exact.matvec(r) });
        expect(iterations).toBeLessThan(3);
      });

      it('keep no memory', async () => {
        const call = async (): Promise<void> => {
          using _first = await pivotedCholesky(kernel, { rank: 4, shift: SHIFT });
          using _second = await nystrom(kernel, { rank: 4, shift: SHIFT, key: random.key(1) });
          using _third = await jacobi(kernel);
        };
        await call();
        expect(await memoryKept(device, call)).toEqual(NOTHING);
      });
    });
  });
}

/** Columns of the Cholesky factor with the largest remaining diagonal first. */
function partialCholesky(a: Matrix, rank: number): number[][] {
  const rest = a.map((row) => [...row]);
  const columns: number[][] = [];
  for (let k = 0; k < rank; k++) {
    const pivot = rest.reduce(
      (best, row, i) => ((row[i] as number) > (rest[best]?.[best] as number) ? i : best),
      0,
    );
    const root = Math.sqrt(rest[pivot]?.[pivot] as number);
    const column = rest.map((row) => (row[pivot] as number) / root);
    columns.push(column);
    for (const [i, row] of rest.entries())
      for (const j of row.keys())
        row[j] = (row[j] as number) - (column[i] as number) * (column[j] as number);
  }
  return a.map((_, i) => columns.map((column) => column[i] as number));
}

/** The inverse of the approximation and the shift, by their formulas. */
function nystromOf(a: Matrix, drawn: Matrix, shift: number): number[][] {
  const y = times(a, drawn);
  const approximation = times(y, solved(times(transposed(drawn), y), transposed(y)));
  const identity = a.map((_, i) => a.map((__, j) => Number(i === j)));
  return solved(
    approximation.map((row, i) => row.map((one, j) => one + shift * Number(i === j))),
    identity,
  );
}
