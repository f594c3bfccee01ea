import { type Device, empty, planOf, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { cdist, kernels, runKernel } from './index.js';

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** Calls made again: each computes what its own tensors and numbers say, and checks them. */
export function describeCallsAgain(device: () => Device): void {
  describe('a call made again', () => {
    const rows = (count: number, k: number, seed: number): Promise<Tensor<'float32'>> =>
      tensor(
        Float32Array.from(upTo(count * k), (i) => Math.sin(i * 1.7 + seed)),
        {
          shape: [count, k],
          device: device(),
        },
      );
    const distances = async (a: Tensor, b: Tensor, p: number): Promise<number[][]> => {
      const [x, y] = [await a.toNested<number[][]>(), await b.toNested<number[][]>()];
      return x.map((u) =>
        y.map((v) => u.reduce((sum, w, k) => sum + Math.abs(w - v[k]!) ** p, 0) ** (1 / p)),
      );
    };
    const near = async (found: Tensor, wanted: readonly (readonly number[])[]): Promise<void> => {
      const numbers = await found.toNested<number[][]>();
      expect(numbers.map((row) => row.length)).toEqual(wanted.map((row) => row.length));
      numbers.forEach((row, m) => {
        row.forEach((one, n) => {
          expect(one).toBeCloseTo(wanted[m]![n]!, 4);
        });
      });
    };

    it('of cdist takes other rows, sizes, layouts, exponents and results', async () => {
      for (const turn of upTo(9)) {
        const [m, n] = [turn % 4 === 3 ? 9 : 6, turn === 5 ? 4 : 7];
        const p = [1, 2, 2.5][turn % 3]!;
        const a = await rows(m, 4, turn);
        const b = turn % 2 === 0 ? await rows(n, 4, -turn) : (await rows(4, n, -turn)).transpose();
        const wanted = await distances(a, b, p);
        const found = await cdist(a, b, { p });
        await near(found, wanted);
        expect(planOf(found)?.summary).toEqual(expect.any(String));
        const out = empty([m, n], { device: device() });
        expect(await cdist(a, b, { p, out })).toBe(out);
        await near(out, wanted);
      }
    });

    it('reads views where they begin, aligned or not', async () => {
      const all = await rows(40, 4, 0);
      const flat = all.reshape([160]);
      const b = await rows(5, 4, 3);
      for (const start of [0, 4, 1, 8, 2, 0, 1]) {
        const view = flat.slice([start, start + 24]).reshape([6, 4]);
        await near(await cdist(view, b), await distances(view, b, 2));
      }
    });

    it('of runKernel takes numbers and tensors as parameters', async () => {
      const [a, b] = [await rows(5, 3, 0), await rows(6, 3, 1)];
      const squares = await distances(a, b, 2);
      for (const h of [0.5, 1, 2, 0.5, 3]) {
        const wanted = squares.map((row) => row.map((d) => Math.exp((-d * d) / (2 * h * h))));
        await near(await runKernel(kernels.gaussian, a, b, { bandwidth: h, epsilon: 0 }), wanted);
        const own = await tensor(Float32Array.of(h), { device: device() });
        await near(await runKernel(kernels.gaussian, a, b, { bandwidth: own, epsilon: 0 }), wanted);
      }
      for (const regularization of [0.1, 0.5, 0.1]) {
        const found = await runKernel(kernels.gaussian, a, {
          bandwidth: 1,
          regularization,
        });
        const numbers = await found.toNested<number[][]>();
        numbers.forEach((row, n) => {
          expect(row[n]).toBeCloseTo(1 + regularization, 5);
        });
      }
      await expect(runKernel(kernels.gaussian, a, b, { bandwidth: 1e-30 })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    });

    it('tells tensors that are one from tensors that lie alike', async () => {
      const [a, b] = [await rows(1, 1, 0), await rows(1, 1, 1)];
      const kernel = async (x: typeof a, y: typeof a, h: typeof a): Promise<unknown> =>
        (await runKernel(kernels.gaussian, x, y, { bandwidth: h, epsilon: 0 })).item();
      const [u, v] = [await a.item(), await b.item()];
      const wanted = (h: number): unknown =>
        expect.closeTo(Math.exp(-((u - v) ** 2) / (2 * h * h)), 5);
      for (const _ of upTo(2)) {
        expect(await kernel(a, b, b)).toEqual(wanted(v));
        expect(await kernel(a, b, await a.clone())).toEqual(wanted(u));
        expect(await kernel(await a.clone(), b, a)).toEqual(wanted(u));
      }
    });

    it('checks its tensors as the first does', async () => {
      const [a, b] = [await rows(4, 4, 0), await rows(4, 4, 1)];
      const out = empty([4, 4], { device: device() });
      for (const _ of upTo(3)) await cdist(a, b, { out });
      const fails = (code: string): unknown => expect.objectContaining({ code });
      await expect(cdist(a, b, { out: a })).rejects.toEqual(fails('OVERLAP'));
      await expect(cdist(a, await rows(4, 3, 1), { out })).rejects.toEqual(fails('SHAPE_MISMATCH'));
      await expect(cdist(a, b, { stream: {} as never })).rejects.toEqual(fails('INVALID_ARGUMENT'));
      const signal = AbortSignal.abort(new Error('ended'));
      await expect(cdist(a, b, { signal })).rejects.toThrow('ended');
      const gone = await rows(4, 4, 2);
      gone.dispose();
      await expect(cdist(gone, b)).rejects.toEqual(fails('DISPOSED'));
    });
  });
}
