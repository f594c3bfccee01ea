import { grad } from '@mercer/autodiff';
import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  cg,
  denseOperator,
  eigsh,
  gmres,
  lanczos,
  lobpcg,
  logdet,
  lsmr,
  lsqr,
  minres,
  trace,
  type LinearOperator,
} from '../index.js';
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

type Numbers = readonly number[];

/** What a call gives that is by the operator, or by its inverse, and what does not depend on its size. */
interface ByOperator {
  readonly power: 1 | -1;
  readonly call: (
    of: LinearOperator,
    b: Tensor,
  ) => Promise<readonly [sized: Numbers, others: readonly unknown[]]>;
}

const numbersOf = async (one: Tensor): Promise<Numbers> =>
  (await one.toNested<number[] | number[][]>()).flat();
const solverOf = (solve: Solve): ByOperator => ({
  power: -1,
  call: async (of, b) => {
    const { x, ...said } = await solve(of as never, b as never);
    return [await numbersOf(x), [said]];
  },
});

const key = random.key(2);
const BY_OPERATOR: Readonly<Record<string, ByOperator>> = {
  // not cg of blocks, whose eigenvalues of small matrices a library may scale
  ...Object.fromEntries(
    Object.entries(SOLVERS)
      .filter(([name]) => name !== 'cg of blocks')
      .map(([name, solve]) => [name, solverOf(solve)]),
  ),
  eigsh: {
    power: 1,
    call: async (of) => {
      const { values, vectors, ...said } = await eigsh(of, { k: 2, key, blockSize: 1 });
      return [await numbersOf(values), [await numbersOf(vectors), said]];
    },
  },
  'eigsh of a small matrix': {
    power: 1,
    call: async (of) => {
      const { values, vectors, ...said } = await eigsh(of, { k: 9, key });
      return [await numbersOf(values), [await numbersOf(vectors), said]];
    },
  },
  lobpcg: {
    power: 1,
    call: async (of, b) => {
      const rtol = b.dtype === 'float64' ? 1e-7 : 1e-4;
      const { values, vectors, ...said } = await lobpcg(of as never, b as never, { rtol });
      return [await numbersOf(values), [await numbersOf(vectors), said]];
    },
  },
  lanczos: {
    power: 1,
    call: async (of) => {
      const { tridiagonal, basis, remainder, ...said } = await lanczos(of, { key, steps: 9 });
      return [
        [...(await numbersOf(tridiagonal)), remainder],
        [await numbersOf(basis), said],
      ];
    },
  },
  trace: {
    power: 1,
    call: async (of) => {
      const { value, standardError, ...said } = await trace(of, { key });
      return [[await value.item(), standardError], [said]];
    },
  },
};

/** Systems of very large and small numbers, and right-hand sides that are written to during a solve; without `full` each size of both in one dtype. */
export function sizesSuite(name: string, place: () => Device, { full = true } = {}): void {
  describe(`sizes of numbers on ${name}`, () => {
    const cases = (['float32', 'float64'] as const).flatMap((dtype, turn) => {
      const [far, most] = dtype === 'float32' ? [22, 33] : [200, 290];
      const sizes = [-1.25, -1, 0, 1, 1.25].map((one) => Math.round(one * far));
      return sizes
        .flatMap((a) => sizes.map((b) => [dtype, a, b] as const))
        .filter(([, a, b], n) => {
          const isSolved = Math.abs(b - a) <= most && Math.abs(a) + Math.abs(b) > 0;
          return isSolved && (full || n % 2 === turn);
        });
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

    describe.each([
      ['float64', [-900, -660, 660, 900]],
      ['float32', [-100, 100]],
    ] as const)('of operators by powers of two, in %s,', (dtype, exponents) => {
      const n = 48;
      const whole = gaussian(pointsOf(n), 0.5);
      /** 2^k as two numbers of the dtype. */
      const halves = (k: number): readonly number[] => [2 ** (k >> 1), 2 ** (k - (k >> 1))];
      const by = (all: Numbers, k: number): Numbers =>
        all.map((one) => halves(k).reduce((product, half) => product * half, one));

      it.each(Object.entries(BY_OPERATOR))('%s gives the same bits', async (_, { call, power }) => {
        const device = place();
        const b = await tensor(matrixOf(n, 2), { device, dtype });
        const a = await tensor(whole, { device, dtype });
        const of = async (k: number): Promise<LinearOperator> => {
          const [first = 1, second = 1] = halves(k);
          return denseOperator((await a.mul(first).mul(second)) as Tensor<'float64'>);
        };
        const [sized, others] = await call(await of(0), b);
        for (const k of exponents) {
          const [found, same] = await call(await of(k), b);
          expect({ k, found, same }).toEqual({ k, found: by(sized, k * power), same: others });
        }
      });

      it('logdet adds their logarithms', async () => {
        const device = place();
        const a = await tensor(whole, { device, dtype });
        const key = random.key(3);
        const one = await logdet(denseOperator(a) as never, { key });
        const expected = await one.value.item();
        for (const k of exponents) {
          const [first = 1, second = 1] = halves(k);
          const of = denseOperator((await a.mul(first).mul(second)) as Tensor<'float64'>);
          const { value, standardError } = await logdet(of, { key });
          expect(await value.item()).toBeCloseTo(
            expected + n * k * Math.LN2,
            dtype === 'float64' ? 8 : 1,
          );
          expect(standardError).toBeCloseTo(one.standardError, 6);
        }
      });
    });

    it('lobpcg takes preconditioners and starts of all sizes', async () => {
      const device = place();
      const where = { device, dtype: 'float64' } as const;
      const whole = denseOperator(await tensor(gaussian(pointsOf(48), 0.5), where));
      const x0 = await tensor(matrixOf(48, 3), where);
      const inverse = whole.shift(1);
      const expected = await lobpcg(whole, x0, { preconditioner: inverse, rtol: 1e-7 });
      for (const [ofP, ofX] of [
        [-660, 0],
        [660, 0],
        [0, -660],
        [0, 660],
        [660, -660],
      ] as const) {
        // prettier-ignore
        const preconditioner = inverse.scale(2 ** ofP);
        const start = await x0.mul(2 ** ofX);
        const found = await lobpcg(whole, start, { preconditioner, rtol: 1e-7 });
        expect([found.converged, found.iterations]).toEqual([true, expected.iterations]);
        expect(await found.values.toNested()).toEqual(await expected.values.toNested());
      }
    });

    it('lanczos takes starts of all sizes', async () => {
      const device = place();
      const where = { device, dtype: 'float64' } as const;
      const whole = denseOperator(await tensor(matrix, where));
      const start = await tensor(
        rightHandSides.map(([one = 0]) => one),
        where,
      );
      const expected = await lanczos(whole, { start, steps: 6 });
      for (const k of [-660, 660]) {
        const found = await lanczos(whole, { start: await start.mul(2 ** k), steps: 6 });
        expect(await found.tridiagonal.toNested()).toEqual(await expected.tridiagonal.toNested());
      }
    });

    it('values of eigsh have the derivative of an operator of any size', async () => {
      const device = place();
      const where = { device, dtype: 'float64' } as const;
      for (const n of [12, 48]) {
        const whole = await tensor(gaussian(pointsOf(n), 0.5), where);
        const largest = async (a: Tensor<'float64'>): Promise<Tensor> =>
          (await eigsh(denseOperator(a), { k: 1, key: random.key(1), rtol: 1e-12 })).values.sum();
        const expected = await nested(await grad(largest)(whole));
        for (const k of [-660, 660]) {
          const found = await nested(await grad(largest)(await whole.mul(2 ** k)));
          expect(difference(found, expected)).toBeLessThan(1e-12);
        }
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
