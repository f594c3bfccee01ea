import { grad } from '@mercer/autodiff';
import {
  lazyI,
  lazyJ,
  rangesFromMatrix,
  truncatedRanges,
  type TruncatedRanges,
} from '@mercer/lazy';
import { solveCholesky } from '@mercer/linalg';
import { device as deviceOf, eye, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { centralDifferences, expectClose } from '../../../autodiff/test/differences.mjs';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { cg, jacobi, kernelSolve, NotConvergedError } from '../index.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  noise,
  pointsOf,
  solved,
  times,
  type Matrix,
} from './systems.test-support.js';

type Numbers = Tensor<'float64'>;

const N = 10;
const points = pointsOf(N);
const right = matrixOf(N, 3);
const TEXT = 'Exp(-SqDist(x, y)) * b';
const ALIASES = ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(3)'];

const kernel = (of: Tensor, other = of) =>
  lazyI(of as Numbers)
    .sqdist(lazyJ(other as Numbers))
    .neg()
    .exp();

/** The same points as an array. */
const HOST = { data: Float64Array.from(points.flat()), shape: [N, 1] };

const value = (a: readonly number[], b: readonly number[]): number =>
  Math.exp(-a.reduce((sum, one, k) => sum + (one - (b[k] as number)) ** 2, 0));

/** Plus 2 on the diagonal. */
const withShift = (a: Matrix): number[][] =>
  a.map((row, i) => row.map((one, j) => one + (i === j ? 2 : 0)));

/** Systems of symbolic matrices and of formulas in text, against elimination. */
export function solveSuite(name: string, place: () => Device): void {
  let device: Device;
  let x: Numbers;
  let b: Numbers;

  beforeAll(async () => {
    device = place();
    [x, b] = [await float64(points, device), await float64(right, device)];
  });

  describe(`solve of a symbolic matrix on ${name}`, () => {
    it('gives the solution with alpha on the diagonal', async () => {
      const found = await kernel(x).solve(b, { alpha: 0.1, rtol: 1e-12 });
      expect(difference(await nested(found), solved(gaussian(points, 0.1), right))).toBeLessThan(
        1e-10,
      );
    });

    it('adds 1e-10 where nothing is said', async () => {
      const far = await float64([[0], [10]], device);
      const ones = await tensor([1, 1], { device, dtype: 'float64' });
      const found = await (await kernel(far).solve(ones, { rtol: 1e-15 })).toNested<number[]>();
      expect(found[0]).toBeCloseTo(1 / (1 + 1e-10), 15);
    });

    it('throws with what was reached where it does not converge', async () => {
      const error = await kernel(x)
        .solve(b, { maxIterations: 3, rtol: 1e-12 })
        .then(
          () => undefined,
          (thrown: unknown) => thrown as NotConvergedError,
        );
      expect(error).toBeInstanceOf(NotConvergedError);
      expect(error?.code).toBe('NOT_CONVERGED');
      expect(error?.message).toMatch(
        /^solve: after 3 iterations the relative residual is \d\.\d+\. /,
      );
      expect(error?.solution.x.shape).toEqual([N, 3]);
      expect(error?.solution.iterations).toBe(3);
    });

    it('is differentiated by alpha', async () => {
      const alpha = await tensor(0.2, { device, dtype: 'float64' });
      const of = async (a: Tensor): Promise<Tensor> => {
        const found = await kernel(x).solve(b, { alpha: a as Numbers, rtol: 1e-13 });
        return found.square().sum();
      };
      const found = await (await grad(of)(alpha)).toTypedArray();
      expectClose(Float64Array.from(found, Number), await centralDifferences(of, [alpha], 0), 1e-6);
    });

    it('takes the options of products', async () => {
      const b32 = await tensor(right, { device, dtype: 'float32' });
      const x32 = await tensor(points, { device, dtype: 'float32' });
      const one = lazyI(x32).sqdist(lazyJ(x32)).neg().exp();
      const plan = { alpha: 0.1, rtol: 1e-6 } as const;
      const found = await one.solve(b32, { ...plan, accumulate: 'float64', sumScheme: 'direct' });
      expect(difference(await nested(found), solved(gaussian(points, 0.1), right))).toBeLessThan(
        1e-4,
      );
      await expect(one.solve(b32, { ...plan, accumulate: 'float16' as never })).rejects.toThrow(
        /accumulate/,
      );
    });

    it('refuses a right-hand side that is no tensor, with devices too', async () => {
      for (const options of [{}, { devices: [device] }]) {
        for (const strange of [undefined, [[1]], Promise.resolve(b)]) {
          const call = kernel(x).solve(strange as never, { ...options, alpha: 1 });
          await expect(call).rejects.toThrow(/solve: b(: expected a tensor| is a Promise)/);
        }
      }
    });

    it.each<[string, (x: Tensor<'float64'>) => Parameters<typeof lazyI>[0]]>([
      ['its tensors', (one) => one],
      ['arrays of the host', () => HOST],
    ])('cuts its rows into blocks, of %s, with derivatives', async (_, rows) => {
      const cut = { devices: [device, device], maxBytes: 2000 };
      const one = lazyI(rows(x) as Numbers)
        .sqdist(lazyJ(rows(x) as Numbers))
        .neg()
        .exp();
      const solve = (of: Tensor, a: number | Tensor = 0.1): Promise<Tensor> =>
        one.solve(of as Numbers, { ...cut, alpha: a as Numbers, rtol: 1e-12 });
      const found = await solve(b);
      expect(found.device).toBe(device);
      expect(difference(await nested(found), solved(gaussian(points, 0.1), right))).toBeLessThan(
        1e-9,
      );
      // b may lie elsewhere, and has its gradient there
      const away = await float64(right, deviceOf('cpu'));
      const byB = await grad(async (of: Tensor) => (await solve(of)).sum())(away);
      expect(byB.device).toBe(away.device);
      const ones = right.map((row) => row.map(() => 1));
      expect(difference(await nested(byB), solved(gaussian(points, 0.1), ones))).toBeLessThan(1e-9);
    });

    describe('with ranges', () => {
      const M = 60;
      const many = Array.from({ length: M }, (_, at) => [at / 8, 0.3 * noise(at)]);
      const rightOfMany = matrixOf(M, 2, 4);
      let near: TruncatedRanges<'float64'>;
      let sorted: Numbers;
      let stored: number[][];
      beforeAll(async () => {
        const where = await float64(many, device);
        near = await truncatedRanges(where, where, { cutoff: 1.5, clusterSize: 4 });
        const order = Array.from(await near.orderI.toTypedArray(), Number);
        sorted = await near.sortJ(await float64(rightOfMany, device));
        // which pairs are kept, by a sum over unit vectors
        const units = await eye(M, { device, dtype: 'float64' });
        const kept = await nested(
          await lazyI(near.x)
            .elem(0)
            .mul(0)
            .add(1)
            .mul(lazyJ(units))
            .sum('j', { ranges: near.ranges }),
        );
        stored = order.map((i, k) =>
          order.map((j, l) => (kept[k]?.[l] as number) * value(many[i] ?? [], many[j] ?? [])),
        );
        const left = kept.flat().filter((one) => one === 0).length;
        expect(left).toBeGreaterThan(0.3 * M ** 2);
      });

      it('is the system of the pairs that meet, as is an operator', async () => {
        const expected = solved(withShift(stored), await nested(sorted));
        const { ranges } = near;
        for (const cut of [{}, { devices: [device, device], maxBytes: 40_000 }]) {
          const x = await kernel(near.x).solve(sorted, { ranges, ...cut, alpha: 2, rtol: 1e-12 });
          expect(difference(await nested(x), expected)).toBeLessThan(1e-9);
          const a = kernel(near.x).asOperator({ ranges, ...cut });
          expect(difference(await nested(await a.dense()), stored)).toBeLessThan(1e-12);
          expect(
            difference(await nested(await a.rmatvec(sorted)), times(stored, await nested(sorted))),
          ).toBeLessThan(1e-12);
          expect(
            difference(await nested(await a.rows([7, 50])), [stored[7]!, stored[50]!]),
          ).toBeLessThan(1e-12);
          expect(await (await a.diagonal()).toNested()).toEqual(new Array(M).fill(1));
          using preconditioner = await jacobi(a.shift(2));
          const found = await cg(a.shift(2), sorted, { preconditioner, rtol: 1e-12 });
          expect(found.converged).toBe(true);
          expect(difference(await nested(found.x), expected)).toBeLessThan(1e-9);
        }
      });

      it('of text is the same system', async () => {
        const text = 'Exp(-SqDist(x, y)) * b';
        const solve = kernelSolve(text, ['x = Vi(2)', 'y = Vj(2)', 'b = Vj(2)'], 'b', {
          axis: 'j',
        });
        const { ranges } = near;
        const expected = solved(withShift(stored), await nested(sorted));
        for (const cut of [{}, { devices: [device, device], maxBytes: 40_000 }]) {
          const options = { ranges, ...cut, alpha: 2, rtol: 1e-12 };
          const found = await nested(await solve([near.x, near.x, sorted], options));
          expect(difference(found, expected)).toBeLessThan(1e-9);
        }
      });

      it('has the derivatives of those pairs', async () => {
        const some = await float64([[0], [1], [2]], device);
        const parts = [
          [0, 2],
          [2, 3],
        ] as const;
        const ranges = rangesFromMatrix(parts, parts, [
          [1, 0],
          [0, 1],
        ]);
        const of = async (at: Tensor): Promise<Tensor> =>
          (await kernel(at).solve(b.slice([0, 3]), { ranges, alpha: 0.5, rtol: 1e-13 }))
            .square()
            .sum();
        const found = await grad(of)(some);
        expectClose(
          Float64Array.from(await found.toTypedArray(), Number),
          await centralDifferences(of, [some], 0),
          1e-6,
        );
        // the third point meets none of the others
        expect((await nested(found))[2]).toEqual([0]);
      });

      it('of one direction have no transpose, and none at all are refused', async () => {
        const { rangesI, slicesI, redrangesJ } = near.ranges;
        const a = kernel(near.x).asOperator({ ranges: { rangesI, slicesI, redrangesJ } });
        expect(a.hasTranspose).toBe(false);
        const half = { rangesI, slicesI, redrangesJ, rangesJ: undefined } as never;
        expect(kernel(near.x).asOperator({ ranges: half }).hasTranspose).toBe(false);
        expect(difference(await nested(await a.dense()), stored)).toBeLessThan(1e-12);
        await expect(a.rmatvec(sorted)).rejects.toThrow(/the operator has no rmatvec/);
        for (const ranges of [[], 3] as never[]) {
          const call = kernel(near.x).solve(sorted, { ranges });
          await expect(call).rejects.toThrow(/the ranges have no array 'rangesI'/);
        }
      });
    });

    it('keeps no memory', async () => {
      const call = async (): Promise<void> => {
        (await kernel(x).solve(b, { alpha: 0.1 })).dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });

  describe(`kernelSolve on ${name}`, () => {
    it.each(['j', 1] as const)('solves a system in text, summed over %s', async (axis) => {
      const solve = kernelSolve(TEXT, ALIASES, 'b', { axis });
      const found = await nested(await solve([x, x, b], { alpha: 0.1, rtol: 1e-12 }));
      expect(difference(found, solved(gaussian(points, 0.1), right))).toBeLessThan(1e-9);
    });

    it('sums over i where nothing is said, as KeOps', async () => {
      const solve = kernelSolve(TEXT, ['x = Vi(1)', 'y = Vj(1)', 'b = Vi(3)'], 'b');
      const found = await nested(await solve([x, x, b], { alpha: 0.1, rtol: 1e-12 }));
      expect(difference(found, solved(gaussian(points, 0.1), right))).toBeLessThan(1e-9);
    });

    it('cuts its rows into blocks', async () => {
      const solve = kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' });
      const options = { devices: [device, device], maxBytes: 2000, alpha: 0.1, rtol: 1e-12 };
      // what it reads lies anywhere
      const cpu = deviceOf('cpu');
      const [away, bAway] = [await float64(points, cpu), await float64(right, cpu)];
      const found = await solve([away, x, bAway], options);
      expect(found.device).toBe(device);
      expect(difference(await nested(found), solved(gaussian(points, 0.1), right))).toBeLessThan(
        1e-9,
      );
    });

    it('is that of a test of KeOps, with its gradient by points', async () => {
      // KernelSolve there: 10 points and right-hand sides of 3 numbers, alpha 0.1
      const [M, D, E, g] = [10, 3, 3, 1.5];
      const at = await float64(matrixOf(M, D, 11), device);
      const values = await float64(matrixOf(M, E, 12), device);
      const factor = await tensor([g], { device, dtype: 'float64' });
      const alpha = 0.1;
      const invert = kernelSolve(
        'Exp(-g * SqDist(x, y)) * b',
        [`x = Vi(${D})`, `y = Vj(${D})`, `b = Vj(${E})`, 'g = Pm(1)'],
        'b',
        { axis: 1 },
      );
      const byText = (one: Tensor): Promise<Tensor> =>
        invert([one as Numbers, one as Numbers, values, factor], { alpha, rtol: 1e-13 });
      const byFactor = async (one: Tensor): Promise<Tensor> => {
        const squares = one
          .reshape([M, 1, D])
          .sub(one.reshape([1, M, D]))
          .square()
          .sum(-1);
        const identity = (await eye(M, { device, dtype: 'float64' })).mul(alpha);
        const { x: found } = await solveCholesky(await squares.mul(-g).exp().add(identity), values);
        return found;
      };
      const expected = await nested(await byFactor(at));
      expect(difference(await nested(await byText(at)), expected)).toBeLessThan(1e-11);
      const norm =
        (of: (one: Tensor) => Promise<Tensor>) =>
        async (one: Tensor): Promise<Tensor> =>
          (await of(one)).square().sum();
      const slope = await nested(await grad(norm(byFactor))(at));
      expect(difference(await nested(await grad(norm(byText))(at)), slope)).toBeLessThan(1e-10);
    });

    it('components that the formula mixes are one system', async () => {
      // b + reversed b / 2, of each row alone
      const text =
        'IfElse(-SqDist(x, y), b + Concat(Elem(b, 1), Elem(b, 0)) / IntCst(2), IntCst(0) * b)';
      const solve = kernelSolve(text, ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(2)'], 'b', { axis: 'j' });
      const found = await nested(
        await solve([x, x, b.slice(null, [0, 2])], { alpha: 0, rtol: 1e-13 }),
      );
      const expected = right.map(([one = 0, two = 0]) => [
        (one - two / 2) / 0.75,
        (two - one / 2) / 0.75,
      ]);
      expect(difference(found, expected)).toBeLessThan(1e-12);
    });

    it('is differentiated by its tensors', async () => {
      const solve = kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' });
      const of = async (one: Tensor): Promise<Tensor> => {
        const y = one as Numbers;
        return (await solve([y, y, b], { alpha: 0.3, rtol: 1e-13 })).square().sum();
      };
      const found = await (await grad(of)(x)).toTypedArray();
      expectClose(Float64Array.from(found, Number), await centralDifferences(of, [x], 0), 1e-6);
    });

    it.each<[string, () => unknown, string]>([
      ['an unknown that is no alias', () => kernelSolve(TEXT, ALIASES, 'c'), 'the unknown is "c"'],
      [
        'too few arguments',
        () => kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' })([x, b]),
        'the arguments are 2 tensors',
      ],
      [
        'a batch',
        () => kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' })([x, x, b.reshape([1, N, 3])]),
        'without a batch',
      ],
    ])('refuses %s', async (_, call, said) => {
      await expect((async () => call())()).rejects.toThrow(said);
    });

    it('keeps no memory', async () => {
      const solve = kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' });
      const call = async (): Promise<void> => {
        (await solve([x, x, b], { alpha: 0.1 })).dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
