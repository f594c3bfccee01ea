import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { cg, denseOperator, gmres, lsmr, lsqr, minres } from '../index.js';
import {
  difference,
  gaussian,
  matrixOf,
  nested,
  pointsOf,
  solved,
} from './systems.test-support.js';

const N = 12;
const matrix = gaussian(pointsOf(N), 0.5);
const rightHandSides = matrixOf(N, 2);
const truth = solved(matrix, rightHandSides);

type Solve = (a: never, b: never, o?: object) => Promise<{ x: Tensor; converged: boolean }>;
const SOLVERS: Readonly<Record<string, Solve>> = {
  cg: (a, b, o) => cg(a, b, o),
  'cg of blocks': (a, b, o) => cg(a, b, { ...o, block: true }),
  minres: (a, b, o) => minres(a, b, o),
  gmres: (a, b, o) => gmres(a, b, o),
  lsqr: (a, b, o) => lsqr(a, b, o),
  lsmr: (a, b, o) => lsmr(a, b, o),
};

/** Systems of very large and small numbers, and right-hand sides that are written to during a solve. */
export function sizesSuite(name: string, place: () => Device): void {
  describe(`sizes of numbers on ${name}`, () => {
    const cases = (['float32', 'float64'] as const).flatMap((dtype) => {
      const [far, most] = dtype === 'float32' ? [22, 33] : [200, 290];
      const sizes = [-1.25, -1, 0, 1, 1.25].map((one) => Math.round(one * far));
      return sizes
        .flatMap((a) => sizes.map((b) => [dtype, a, b] as const))
        .filter(([, a, b]) => Math.abs(b - a) <= most && Math.abs(a) + Math.abs(b) > 0);
    });
    it.each(Object.entries(SOLVERS))('%s solves systems of all sizes', async (_, solve) => {
      const device = place();
      for (const [dtype, ofA, ofB] of cases) {
        const [a, b] = [matrix, rightHandSides].map((all, at) =>
          all.map((row) => row.map((one) => one * 10 ** (at === 0 ? ofA : ofB))),
        ) as [number[][], number[][]];
        const system = denseOperator(await tensor(a, { device, dtype }));
        const right = await tensor(b, { device, dtype });
        const found = await solve(system as never, right as never);
        const x = (await nested(found.x)).map((row) => row.map((one) => one / 10 ** (ofB - ofA)));
        const said = { dtype, ofA, ofB, converged: found.converged };
        expect({ ...said, isRight: difference(x, truth) < 1e-2 }).toEqual({
          ...said,
          converged: true,
          isRight: true,
        });
      }
    });

    it('atol is of the right-hand side as it was given, and x0 of x', async () => {
      const device = place();
      const large = rightHandSides.map((row) => row.map((one) => one * 1e30));
      const b = await tensor(large, { device, dtype: 'float64' });
      const system = denseOperator(await tensor(matrix, { device, dtype: 'float64' }));
      const loose = await cg(system, b, { rtol: 0, atol: 1e28 });
      const tight = await cg(system, b, { rtol: 0, atol: 1e22 });
      expect([loose.converged, tight.converged]).toEqual([true, true]);
      expect(loose.iterations).toBeLessThan(tight.iterations);
      expect(loose.residual).toBeGreaterThan(1e-5);
      const x0 = await tensor(
        truth.map((row) => row.map((one) => one * 1e30)),
        { device, dtype: 'float64' },
      );
      expect((await cg(system, b, { x0 })).iterations).toBe(0);
      expect((await lsqr(system.scale(1e-150), b, { x0: await x0.mul(1e150) })).iterations).toBe(0);
    });

    it('the figure of an indefinite operator is that of the right-hand side as it was given', async () => {
      const device = place();
      const negative = denseOperator(await tensor([[-2]], { device, dtype: 'float64' }));
      const b = await tensor([3e15], { device, dtype: 'float64' });
      await expect(cg(negative, b)).rejects.toMatchObject({
        code: 'INDEFINITE',
        message: expect.stringMatching(/p \. A p is -1(\.8|\.79+\d*|\.80+\d*)e\+31 /) as string,
      });
    });

    it.each(Object.entries(SOLVERS))(
      '%s solves for b and x0 as they were when it was called',
      async (_, solve) => {
        const device = place();
        const system = denseOperator(await tensor(matrix, { device, dtype: 'float64' }));
        const b = await tensor(rightHandSides, { device, dtype: 'float64' });
        const x0 = await tensor(truth, { device, dtype: 'float64' });
        const started = solve(system as never, b as never, { x0, maxIterations: 1, rtol: 1e-10 });
        await Promise.all([b.mul(NaN, { out: b }), x0.mul(NaN, { out: x0 })]);
        const { x, converged } = await started;
        expect(converged).toBe(true);
        expect(difference(await nested(x), truth)).toBeLessThan(1e-12);
      },
    );

    it('keeps no memory', async () => {
      const device = place();
      const system = denseOperator(await tensor(matrix, { device, dtype: 'float64' })).scale(
        1e-150,
      );
      const b = await tensor(rightHandSides, { device, dtype: 'float64' });
      const call = async (): Promise<void> => {
        for (const solve of Object.values(SOLVERS))
          (await solve(system as never, b as never, { x0: b })).x.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
