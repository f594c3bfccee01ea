import { exp, mul, neg, variable } from '@mercer/formula';
import { empty, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import {
  cdistBackward,
  customKernel,
  kernelDescriptor,
  kernels,
  runKernelBackward,
  type AnyRunKernelOptions,
} from './index.js';
import { backward, expectClose, maker, read } from './run-kernel-backward-checks.test-support.js';

/** Backward calls that write to tensors of the caller, that are prepared, and that are made again. */
export function describeBackwardCalls(device: () => Device): void {
  describe('backward calls', () => {
    const doubles = maker(device);
    const make = (
      values: ArrayLike<number>,
      shape: readonly number[],
    ): Promise<Tensor<'float64'>> =>
      doubles(values, shape, 'float64') as Promise<Tensor<'float64'>>;
    const [m, n, k] = [6, 7, 3];
    const inputs = async (seed: number, rows = m) =>
      [
        await make(normalValues(rows * n, seed), [rows, n]),
        await make(normalValues(rows * k, seed + 1), [rows, k]),
        await make(normalValues(n * k, seed + 2), [n, k]),
      ] as const;
    type Found = Readonly<Record<string, Tensor | undefined>>;
    const numbers = async (found: Found): Promise<Record<string, unknown>> =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(found).map(async ([name, one]) => [name, await one?.toNested()] as const),
        ),
      );

    it('write to the tensors of out, in any layout, and give the rest anew', async () => {
      const [g, a, b] = await inputs(1);
      const wrt = ['a', 'b', 'bandwidth'] as const;
      const whole = await runKernelBackward(kernels.gaussian, g, a, b, { bandwidth: 2, wrt });
      const place = { dtype: 'float64', device: device() } as const;
      const out = { a: empty([k, m], place).transpose(), bandwidth: empty([], place) };
      const found = await runKernelBackward(kernels.gaussian, g, a, b, { bandwidth: 2, wrt, out });
      expect(found.a).toBe(out.a);
      expect(found.bandwidth).toBe(out.bandwidth);
      expect(await numbers(found)).toEqual(await numbers(whole));
    });

    it('refuse results that do not fit before anything is written', async () => {
      const [g, a, b] = await inputs(2);
      const place = { dtype: 'float64', device: device() } as const;
      const kept = await make(normalValues(m * k, 9), [m, k]);
      const before = await kept.toNested();
      const call = (out: object): Promise<unknown> => cdistBackward(g, a, b, { out: out });
      await expect(call({ a: kept, b: empty([n + 1, k], place) })).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
      });
      await expect(call({ a: kept, b: empty([n, k], { device: device() }) })).rejects.toMatchObject(
        { code: 'DTYPE_MISMATCH' },
      );
      const both = empty([m + n - 1, k], place);
      const [head, tail] = [both.slice([0, m]), both.slice([m - 1, null])];
      await expect(call({ a: head, b: tail })).rejects.toMatchObject({ code: 'OVERLAP' });
      await expect(call({ a: a })).rejects.toMatchObject({ code: 'OVERLAP' });
      await expect(call({ a: kept, p: kept })).rejects.toThrow(/out has 'p', by which nothing/);
      await expect(call(kept)).rejects.toThrow(/out is .* an object with a tensor for each/);
      expect(await kept.toNested()).toEqual(before);
    });

    it('that are prepared compute what ordinary ones do, for other rows too', async () => {
      const wrt = ['a', 'b', 'p'] as const;
      const prepared = await cdistBackward.prepare(...(await inputs(3)), { p: 1.7, wrt });
      for (const rows of [m, 9, m]) {
        const given = await inputs(4 + rows, rows);
        const found = prepared(...given);
        expect(await numbers(found)).toEqual(
          await numbers(await cdistBackward(...given, { p: 1.7, wrt })),
        );
      }
      const [g, x] = [
        await make(normalValues(m * m, 5), [m, m]),
        await make(normalValues(m * k, 6), [m, k]),
      ];
      const options = { bandwidth: 1.5, scale: 2, wrt: ['a', 'scale'] } as const;
      const one = await runKernelBackward.prepare(kernels.matern32, g, x, options);
      const out = { a: empty([m, k], { dtype: 'float64', device: device() }) };
      const found = one(g, x, { out });
      expect(found.a).toBe(out.a);
      expect(await numbers(found)).toEqual(
        await numbers(await runKernelBackward(kernels.matern32, g, x, options)),
      );
      const transposed = g.transpose();
      const turned = await transposed.clone();
      expect(await numbers(one(transposed, x))).toEqual(await numbers(one(turned, x)));
      expect(() => one(g, x, { debug: true } as object)).toThrow(/debug/);
    });

    it('made again compute what their own tensors and numbers say', async () => {
      const gaussian = async (
        [g, a, b]: Awaited<ReturnType<typeof inputs>>,
        bandwidth: number | Tensor<'float64'>,
      ): Promise<Record<string, unknown>> =>
        numbers(
          await runKernelBackward(kernels.gaussian, g, a, b, {
            bandwidth,
            wrt: ['b', 'bandwidth'],
          }),
        );
      const [first, second] = [await inputs(10), await inputs(20)];
      const wanted = [
        await gaussian(first, 1.2),
        await gaussian(second, 1.2),
        await gaussian(first, 2.5),
      ];
      expect(wanted[0]).not.toEqual(wanted[1]);
      expect(wanted[0]).not.toEqual(wanted[2]);
      for (const [at, [given, bandwidth]] of (
        [
          [first, 1.2],
          [second, 1.2],
          [first, 2.5],
        ] as const
      ).entries()) {
        expect(await gaussian(given, bandwidth)).toEqual(wanted[at]);
        const inMemory = await make([bandwidth], []);
        expect(await gaussian(given, inMemory)).toEqual(wanted[at]);
      }
    });

    it('that are prepared say what does not go with their examples', async () => {
      const [g, a, b] = await inputs(30);
      const prepared = await cdistBackward.prepare(g, a, b, { wrt: ['b'] });
      const loosely = prepared as unknown as (...given: unknown[]) => unknown;
      expect(() => loosely(g, a)).toThrow(/prepared for two inputs, called with one. Pass b/);
      const wide = await make(normalValues(m * (k + 1), 3), [m, k + 1]);
      const other = await make(normalValues(n * (k + 1), 4), [n, k + 1]);
      expect(() => prepared(g, wide, other)).toThrow(/prepared for 3 features, called with 4/);
      const [single, x, y] = await Promise.all([g, a, b].map((one) => one.cast('float32')));
      expect(() => loosely(single, x, y)).toThrow(/prepared for float64, called with float32/);
      const square = await make(normalValues(m * m, 5), [m, m]);
      const options = { bandwidth: 1, wrt: ['bandwidth'] } as const;
      const one = await runKernelBackward.prepare(kernels.gaussian, square, a, options);
      const withB = one as unknown as (...given: unknown[]) => unknown;
      expect(() => withB(square, a, b)).toThrow(/prepared for one input, called with two/);
    });

    it('check the parameters that no wanted gradient reads', async () => {
      const [g, a, b] = await inputs(31);
      const single = (await make([0.5], [1]).then((one) =>
        one.cast('float32'),
      )) as Tensor as Tensor<'float64'>;
      const call = (options: AnyRunKernelOptions, wrt: readonly string[]): Promise<unknown> =>
        backward(kernels.gaussian, g, a, b, { bandwidth: 1, ...options }, wrt);
      for (const options of [
        { bandwidth: single, regularization: 0.1 },
        { regularization: single },
        { epsilon: single },
      ]) {
        await expect(call(options, ['a'])).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
        await expect(
          call({ regularization: 0.1, ...options }, ['regularization']),
        ).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
      }
    });

    it("tell custom kernels apart whose parameters have each other's names", async () => {
      const [g, a, b] = await inputs(32);
      const [d, x, y] = [variable('d'), variable('x'), variable('y')];
      const kernelOf = (first: typeof x, second: typeof x, parameters: readonly string[]) =>
        kernelDescriptor({
          innerOperator: 'diff',
          innerPower: 'square',
          outerPower: 'none',
          kernel: customKernel(mul(first, exp(neg(mul(d, second)))), { parameters }),
        });
      const both = [kernelOf(x, y, ['x', 'y']), kernelOf(y, x, ['y', 'x'])] as const;
      const parameters = { x: 0.5, y: 0.5 };
      const found = [];
      for (const one of [...both, ...both]) {
        const call = await backward(one, g, a, b, { parameters }, ['parameters.x']);
        found.push(await numbers(call));
      }
      expect(found.slice(2)).toEqual(found.slice(0, 2));
      expect(found[0]).not.toEqual(found[1]);
    });

    it('take other numbers of rows where sums are added up in another way', async () => {
      const wrt = ['a', 'b', 'bandwidth'] as const;
      const options = { bandwidth: 2, wrt };
      const prepared = await runKernelBackward.prepare(
        kernels.gaussian,
        ...(await inputs(33, 2)),
        options,
      );
      for (const rows of [50, 3000]) {
        const given = await inputs(34, rows);
        const [found, wanted] = [
          prepared(...given),
          await runKernelBackward(kernels.gaussian, ...given, options),
        ];
        // the plan of other sizes may add in another order
        for (const name of wrt) {
          expectClose(name, await read(found, name), await read(wanted, name), 1e-13);
        }
      }
    });

    it('never take one tensor for two results, however often calls like this were made', async () => {
      const [g, a, b] = await inputs(40, n);
      const place = { dtype: 'float64', device: device() } as const;
      const call = (first: Tensor<'float64'>, second: Tensor<'float64'>): Promise<unknown> =>
        cdistBackward(g, a, b, { out: { a: first, b: second } });
      const fresh = (): Tensor<'float64'> => empty([n, k], place);
      for (let turn = 0; turn < 3; turn++) await call(fresh(), fresh());
      const one = fresh();
      await expect(call(one, one)).rejects.toMatchObject({ code: 'OVERLAP' });
      const prepared = await cdistBackward.prepare(g, a, b);
      for (let turn = 0; turn < 3; turn++) prepared(g, a, b, { out: { a: fresh(), b: fresh() } });
      expect(() => prepared(g, a, b, { out: { a: one, b: one } })).toThrow(/share memory/);
    });

    it('read parameters that only a derivative depends on', async () => {
      const [g, a, b] = await inputs(41);
      const call = (gamma: number | Tensor, offset: number | Tensor): Promise<Found> =>
        backward(kernels.polynomial, g, a, b, { gamma, offset, degree: 0 } as never, ['degree']);
      const wanted = await numbers(await call(1.5, 9));
      const [gamma, offset] = [await make([1.5], [1]), await make([9], [])];
      expect(await numbers(await call(gamma, 9))).toEqual(wanted);
      expect(await numbers(await call(gamma, offset))).toEqual(wanted);
    });

    it('that are prepared for one matrix take it twice', async () => {
      const square = await make(normalValues(m * m, 42), [m, m]);
      const [, a] = await inputs(43);
      const prepared = await runKernelBackward.prepare(kernels.gaussian, square, a, a, {
        bandwidth: 2,
      });
      expect(await numbers(prepared(square, a, a))).toEqual(await numbers(prepared(square, a)));
    });
  });
}
