import { empty, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import { cdistBackward, kernels, runKernelBackward } from './index.js';
import { maker } from './run-kernel-backward-checks.test-support.js';

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
      const found = one(g, x, undefined, { out });
      expect(found.a).toBe(out.a);
      expect(await numbers(found)).toEqual(
        await numbers(await runKernelBackward(kernels.matern32, g, x, options)),
      );
      const transposed = g.transpose();
      const turned = await transposed.clone();
      expect(await numbers(one(transposed, x))).toEqual(await numbers(one(turned, x)));
      expect(() => one(g, x, undefined, { debug: true } as object)).toThrow(/debug/);
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
  });
}
