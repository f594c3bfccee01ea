import { grad, hvp } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { eigh, logdet as logdetOfMatrix } from '@mercer/linalg';
import { eye, random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, expectGradient } from '../../../autodiff/test/differences.mjs';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  denseOperator,
  eigsh,
  lanczos,
  lobpcg,
  logdet,
  pivotedCholesky,
  trace,
  type LinearOperator,
} from '../index.js';
import { float64, gaussian, matrixOf, pointsOf } from './systems.test-support.js';

type Numbers = Tensor<'float64'>;
type Call = (...args: Tensor[]) => Promise<Tensor>;

/** Few rows, whose matrix is stored, and more, of which a space is searched. */
/** Estimates whose mean is looked at. */
const DRAWS = process.env['MERCER_TEST_FULL'] === '1' ? 60 : 24;

const SIZES = [8, 64] as const;
const key = random.key(11);

const numbersOf = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

/** Derivatives of eigenpairs and estimates, beside those of dense linear algebra. */
export function spectralGradientsSuite(name: string, place: () => Device): void {
  let device: Device;
  let shift: Numbers;
  beforeAll(async () => {
    device = place();
    shift = await tensor(0.3, { device, dtype: 'float64' });
  });

  const kernel = (x: Tensor, a: Tensor): LinearOperator<'float64'> =>
    lazyI(x as Numbers)
      .sqdist(lazyJ(x as Numbers))
      .neg()
      .exp()
      .asOperator()
      .shift(a as Numbers);

  /** The same matrix, stored, by points (N, 1). */
  const matrix = async (x: Tensor, a: Tensor): Promise<Numbers> => {
    const n = x.shape[0] ?? 0;
    const distances = x
      .reshape([n, 1])
      .sub(x.reshape([1, n]))
      .square();
    const unit = await eye(n, { device, dtype: 'float64' });
    const values: unknown = await distances.neg().exp().add(unit.mul(a));
    return values as Numbers;
  };

  describe.each(SIZES)(`derivatives of eigenpairs of %d rows on ${name}`, (n) => {
    const K = 3;
    let points: Numbers;
    let weights: Numbers;
    let along: Numbers;
    let factors: Numbers;
    beforeAll(async () => {
      factors = await tensor([1, -2, 3], { device, dtype: 'float64' });
      points = await float64(pointsOf(n), device);
      weights = await float64(matrixOf(n, K, 5), device);
      along = await float64(matrixOf(n, 1, 6), device);
    });
    const tight = { rtol: 1e-12 };

    /** The largest or smallest pairs by a solver. */
    const pairsBy = {
      eigsh: (a: LinearOperator<'float64'>) => eigsh(a, { k: K, key, ...tight }),
      lobpcg: async (a: LinearOperator<'float64'>) =>
        lobpcg(a, await random.normal([n, K], { key, device, dtype: 'float64' }), tight),
    };

    const dense = async (x: Tensor, a: Tensor) => {
      const { values, vectors } = await eigh(await matrix(x, a));
      return {
        values: values.slice([n - K, n]).flip(0) as Tensor,
        vectors: vectors.slice(null, [n - K, n]).flip(1) as Tensor,
      };
    };

    /** What both know of the values: of different weight each. */
    const ofValues = (values: Tensor): Tensor =>
      values.square().mul(factors).sum() as unknown as Tensor;
    /** What both know of the vectors, whatever their signs. */
    const ofVectors = (vectors: Tensor): Tensor =>
      vectors.mul(weights).sum(0).square().mul(factors).sum() as unknown as Tensor;

    describe.each(['eigsh', 'lobpcg'] as const)('%s', (solver) => {
      const values: Call = async (x, a) => ofValues((await pairsBy[solver](kernel(x, a))).values);
      const vectors: Call = async (x, a) =>
        ofVectors((await pairsBy[solver](kernel(x, a))).vectors);
      const denseValues: Call = async (x, a) => ofValues((await dense(x, a)).values);
      const denseVectors: Call = async (x, a) => ofVectors((await dense(x, a)).vectors);

      it.each([
        ['values', values, denseValues],
        ['vectors', vectors, denseVectors],
      ] as const)(
        '%s by points and the shift are those of a dense decomposition',
        async (what, f, g) => {
          const found = await grad(f, { argnums: [0, 1] })(points, shift);
          const expected = await grad(g, { argnums: [0, 1] })(points, shift);
          expectClose(await numbersOf(found[0]), await numbersOf(expected[0]), 1e-7);
          const [byShift, known] = [await numbersOf(found[1]), await numbersOf(expected[1])];
          // vectors do not change with it
          expect(Math.abs((byShift[0] as number) - (known[0] as number))).toBeLessThan(1e-7);
          if (what === 'values') expect(Math.abs(known[0] as number)).toBeGreaterThan(1);
        },
      );

      it('values of the second order, forwards over backwards and backwards twice', async () => {
        const of = (x: Tensor): Promise<Tensor> => values(x, shift);
        const known = (x: Tensor): Promise<Tensor> => denseValues(x, shift);
        const expected = await numbersOf(await hvp(known)(points, along));
        expectClose(await numbersOf(await hvp(of)(points, along)), expected, 1e-5);
        const directional = async (x: Tensor): Promise<Tensor> =>
          (await grad(of)(x)).mul(along).sum();
        expectClose(await numbersOf(await grad(directional)(points)), expected, 1e-5);
      });
    });

    it('smallest pairs, of a stored matrix', async () => {
      const levels = Array.from({ length: n }, (_, at) => at + 1);
      const noise = matrixOf(n, n, 8);
      const start = levels.map(
        (one, i) =>
        levels.map((_, j) => (i === j ? one : 0.05 * ((noise[i]?.[j] as number) + (noise[j]?.[i] as number)))), // prettier-ignore
      );
      const a = await float64(start, device);
      const solver: Call = async (given) => {
        const symmetric = (await given.add(given.transpose()).mul(0.5)) as Numbers;
        const found = await eigsh(denseOperator(symmetric), {
          k: K,
          which: 'smallest',
          key,
          ...tight,
        });
        return ofValues(found.values).add(ofVectors(found.vectors));
      };
      const known: Call = async (given) => {
        const found = await eigh((await given.add(given.transpose()).mul(0.5)) as Numbers);
        const vectors = found.vectors.slice(null, [0, K]);
        return ofValues(found.values.slice([0, K])).add(ofVectors(vectors));
      };
      expectClose(
        await numbersOf(await grad(solver)(a)),
        await numbersOf(await grad(known)(a)),
        1e-6,
      );
    });

    it('of equal values what sees them alike', async () => {
      const twice = Array.from({ length: n }, (_, i) =>
        Array.from({ length: n }, (_, j) => (i === j ? (i < 2 ? 5 : 1 / (i + 1)) : 0)),
      );
      const a = await float64(twice, device);
      const total: Call = async (given) =>
        (await eigsh(denseOperator(given as Numbers), { k: 2, key })).values.sum();
      const found = await grad(total)(a);
      const expected = twice.map((row, i) => row.map((_, j) => Number(i === j && i < 2)));
      expect(Math.max(...(await numbersOf(await found.sub(await float64(expected, device)))).map(Math.abs))).toBeLessThan(1e-10); // prettier-ignore
    });

    it('vectors of the largest magnitude are refused by name, values are not', async () => {
      const of =
        (what: 'values' | 'vectors'): Call =>
        async (x, a) =>
          (await eigsh(kernel(x, a), { k: 2, which: 'magnitude', key }))[what].sum();
      await grad(of('values'))(points, shift);
      await expect(grad(of('vectors'))(points, shift)).rejects.toMatchObject({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringContaining('eigsh: vectors of the largest magnitude') as string,
      });
    });

    it('lanczos is refused by name', async () => {
      const of: Call = async (x, a) =>
        (await lanczos(kernel(x, a), { steps: 2, key })).tridiagonal.sum();
      await expect(grad(of)(points, shift)).rejects.toMatchObject({
        message: expect.stringContaining('lanczos') as string,
      });
    });
  });

  describe(`derivatives of estimates on ${name}`, () => {
    const N = 12;
    let points: Numbers;
    let along: Numbers;
    beforeAll(async () => {
      points = await float64(pointsOf(N), device);
      along = await float64(matrixOf(N, 1, 6), device);
    });

    const estimate =
      (one: random.RandomKey, preconditioner?: LinearOperator<'float64'>): Call =>
      async (x, a) =>
        (await logdet(kernel(x, a), { key: one, probes: 2, preconditioner, rtol: 1e-12 })).value;
    const exact: Call = async (x, a) => (await logdetOfMatrix(await matrix(x, a))).logAbs;

    /** The mean of a function of many keys, and how far it is from what is expected, by its own deviation, elementwise. */
    async function distances(
      count: number,
      call: (key: random.RandomKey) => Promise<Float64Array>,
      expected: Float64Array,
    ): Promise<readonly number[]> {
      const all: Float64Array[] = [];
      for (const one of random.split(key, count)) all.push(await call(one));
      return [...expected].map((truth, at) => {
        const mean = all.reduce((total, one) => total + (one[at] as number), 0) / count;
        const variance =
          all.reduce((total, one) => total + ((one[at] as number) - mean) ** 2, 0) / (count - 1);
        return Math.abs(mean - truth) / Math.sqrt(variance / count);
      });
    }

    it.each([
      ['without a preconditioner', false],
      ['with one', true],
    ])('logdet by points and the shift is right in the mean, %s', async (_, isClose) => {
      const [p, s] = [points, shift];
      const close = isClose
        ? await pivotedCholesky(kernel(p, await tensor(0, { device, dtype: 'float64' })), {
            rank: 3,
            shift: 0.3,
          })
        : undefined;
      const known = await grad(exact, { argnums: [0, 1] })(p, s);
      const expected = Float64Array.of(
        ...(await numbersOf(known[0])),
        ...(await numbersOf(known[1])),
      );
      const found = await distances(
        DRAWS,
        async (one) => {
          const all = await grad(estimate(one, close), { argnums: [0, 1] })(p, s);
          return Float64Array.of(...(await numbersOf(all[0])), ...(await numbersOf(all[1])));
        },
        expected,
      );
      expect(Math.max(...found)).toBeLessThan(3.7);
    });

    it('logdet by the shift is the sum over its own signs', async () => {
      const found = await numbersOf(await grad(estimate(key), { argnums: 1 })(points, shift));
      const drawn = await random.uniform([N, 2], { key, device: 'cpu', dtype: 'float64' });
      const z = (await drawn.toNested<number[][]>()).map((row) =>
        row.map((one) => (one < 0.5 ? -1 : 1)),
      );
      const { values, vectors } = await eigh(await tensor(gaussian(pointsOf(N), 0.3), { device: 'cpu', dtype: 'float64' })); // prettier-ignore
      const [theta, v] = [await values.toNested<number[]>(), await vectors.toNested<number[][]>()];
      let expected = 0;
      for (const p of [0, 1])
        for (const [k, one] of theta.entries()) {
          const dot = z.reduce(
            (sum, row, i) => sum + (row[p] as number) * (v[i]?.[k] as number),
            0,
          );
          expected += (dot * dot) / one / 2;
        }
      expect(Math.abs((found[0] as number) / expected - 1)).toBeLessThan(1e-9);
    });

    it('logdet of the second order is the derivative of the first, and right in the mean', async () => {
      const of =
        (one: random.RandomKey) =>
        (x: Tensor): Promise<Tensor> =>
          estimate(one)(x, shift);
      const directional = async (x: Tensor): Promise<Tensor> =>
        (await grad(of(key))(x)).mul(along).sum();
      const found = await numbersOf(await grad(directional)(points));
      await expectGradient(found, directional, [points], 0, 1e-5);
      const known = await hvp((x: Tensor) => exact(x, shift))(points, along);
      const draws = await distances(
        DRAWS,
        async (one) => numbersOf(await hvp(of(one))(points, along)),
        await numbersOf(known),
      );
      expect(Math.max(...draws)).toBeLessThan(3.7);
    });

    it.each(['hutch++', 'hutchinson'] as const)(
      'trace by %s is right in the mean, to second order',
      async (method) => {
        // of K K^T, whose trace is the sum of all exp(-2 |x - y|^2)
        const of =
          (one: random.RandomKey): ((x: Tensor) => Promise<Tensor>) =>
          async (x) => {
            const gram = kernel(x, shift).shift(-0.3).gram();
            return (await trace(gram, { key: one, probes: 6, method })).value;
          };
        const known = async (x: Tensor): Promise<Tensor> => {
          const distances = x
            .reshape([N, 1])
            .sub(x.reshape([1, N]))
            .square();
          return distances.mul(-2).exp().sum();
        };
        const first = await distances(
          DRAWS,
          async (one) => numbersOf(await grad(of(one))(points)),
          await numbersOf(await grad(known)(points)),
        );
        expect(Math.max(...first)).toBeLessThan(3.7);
        const second = await distances(
          DRAWS,
          async (one) => numbersOf(await hvp(of(one))(points, along)),
          await numbersOf(await hvp(known)(points, along)),
        );
        expect(Math.max(...second)).toBeLessThan(3.7);
      },
    );

    it('keep no memory', async () => {
      const call = async (): Promise<void> => {
        for (const one of await grad(estimate(key), { argnums: [0, 1] })(points, shift))
          one.dispose();
        const values: Call = async (x, a) => {
          const found = await eigsh(kernel(x, a), { k: 2, key });
          using all = found.values;
          found.vectors.dispose();
          return await all.sum();
        };
        for (const one of await grad(values, { argnums: [0, 1] })(points, shift)) one.dispose();
        const total: Call = async (x, a) => (await trace(kernel(x, a), { key })).value;
        for (const one of await grad(total, { argnums: [0, 1] })(points, shift)) one.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
