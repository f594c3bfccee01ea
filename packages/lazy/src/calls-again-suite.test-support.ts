import { empty, startProfile, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { genred, jointReduction, lazyI, lazyJ, type LazyTensor } from './index.js';

const [M, N] = [5, 7];
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** Ordinary calls made again, with formulas that are built anew: each computes what its own tensors say, and checks them. */
export function describeCallsAgain(device: () => Device): void {
  describe('an ordinary call made again', () => {
    const place = (): { readonly dtype: 'float64'; readonly device: Device } => ({
      dtype: 'float64',
      device: device(),
    });
    const column = (values: readonly number[]): Promise<Tensor<'float64'>> =>
      tensor(Float64Array.from(values), { shape: [values.length, 1], device: device() });
    type Column = Tensor<'float64'>;
    const product = (x: Column, y: Column): LazyTensor<'float64'> => lazyI(x).mul(lazyJ(y));
    const sum = (values: readonly number[]): number => values.reduce((total, v) => total + v, 0);
    const readable = async (x: Tensor): Promise<number[]> =>
      [...(await x.toTypedArray())].map(Number);

    it('takes other tensors, sizes and results', async () => {
      const y = await column(upTo(N));
      for (const turn of upTo(8)) {
        const rows = turn % 4 === 3 ? M + 3 : M;
        const x = await column(upTo(rows).map((i) => i * turn + 1));
        const wanted = upTo(rows).map((i) => (i * turn + 1) * sum(upTo(N)));
        expect(await readable(await product(x, y).sum('j'))).toEqual(wanted);
        const out = empty([rows, 1], place());
        expect(await product(x, y).sum('j', { out })).toBe(out);
        expect(await readable(out)).toEqual(wanted);
        const apart = empty([rows, 2], place()).slice(null, [0, 1]);
        expect(await product(x, y).sum('j', { out: apart })).toBe(apart);
        expect(await readable(apart)).toEqual(wanted);
        x.dispose();
      }
    });

    it('launches the same kernels as the first', async () => {
      const [x, y] = [await column(upTo(M)), await column(upTo(N))];
      const kernels: (readonly string[])[] = [];
      for (const _ of upTo(3)) {
        const profile = startProfile();
        await (await product(x, y).square().sum('i')).ready();
        kernels.push((await profile.stop()).map(({ name }) => name));
      }
      expect(kernels[0]).not.toEqual([]);
      expect(kernels[2]).toEqual(kernels[1]);
    });

    it('is checked once, also where operands and results are copied', async () => {
      const turned = (await tensor([upTo(M), upTo(M)], place())).transpose();
      const ones = await tensor([[1, 1]], place());
      const out = empty([M, 2], { dtype: 'int64', device: device() }).slice(null, [0, 1]);
      let checks = 0;
      Object.defineProperty(out, 'isContiguous', {
        get: () => {
          checks++;
          return false;
        },
      });
      const profile = startProfile();
      const counts: number[] = [];
      for (const _ of upTo(3)) {
        const dots = lazyI(turned).dot(lazyJ(ones));
        await dots.argMin('j', { out, indexDtype: 'int64' });
        counts.push(checks);
      }
      expect(await readable(out)).toEqual(upTo(M).map(() => 0));
      expect(counts[0]).toBeGreaterThan(0);
      // What the interpreter computed may have kernels the next time.
      const isInterpreted = (await profile.stop()).some((one) => one.executor === 'interpreted');
      expect(counts[2] === counts[1]).toBe(!isInterpreted);
    });

    it('reads views where they begin, in whatever strides', async () => {
      const all = await column(upTo(4 * N));
      const x = await column([1, 2, 3, 4, 5]);
      for (const start of [0, N, 1, 2 * N, 0]) {
        const found = await product(x, all.slice([start, start + N])).sum('j');
        expect((await readable(found))[0]).toBe(sum(upTo(N).map((j) => j + start)));
        const later = await lazyI(all)
          .mul(lazyJ(x))
          .rows([start, start + 3])
          .sum('j');
        expect(await readable(later)).toEqual([0, 1, 2].map((i) => 15 * (start + i)));
      }
      const turned = (await tensor([upTo(M), upTo(M)], place())).transpose();
      const ones = await tensor([[1, 1]], place());
      for (const one of [turned, await turned.contiguous(), turned]) {
        const found = await lazyI(one).dot(lazyJ(ones)).sum('j');
        expect(await readable(found)).toEqual(upTo(M).map((i) => 2 * i));
      }
    });

    it('tells formulas, axes, weights and options apart', async () => {
      const [x, y] = [await column([1, 2, 3]), await column([1, 10, 100])];
      for (const _ of upTo(3)) {
        expect(await readable(await product(x, y).sum('j'))).toEqual([111, 222, 333]);
        expect(await readable(await product(x, y).sum('i'))).toEqual([6, 60, 600]);
        expect(await readable(await product(x, y).max('j'))).toEqual([100, 200, 300]);
        expect(await readable(await product(x, y).add(1).sum('j'))).toEqual([114, 225, 336]);
        expect(await readable(await product(y, x).sum('j'))).toEqual([6, 60, 600]);
        expect(await readable(await product(x, y).kMin(2, 'j'))).toEqual([1, 10, 2, 20, 3, 30]);
        expect(await readable(await product(x, y).kMin(1, 'j'))).toEqual([1, 2, 3]);
        const wide = await product(x, y).argMax('j', { indexDtype: 'int64' });
        expect([wide.dtype, await readable(wide)]).toEqual(['int64', [2, 2, 2]]);
        const short = await product(x, y).argMax('j');
        expect([short.dtype, await readable(short)]).toEqual(['int32', [2, 2, 2]]);
      }
    });

    it('gives the results of several reductions by their names', async () => {
      const y = await column([3, 1, 2]);
      for (const turn of [1, -1, 2, -1]) {
        const x = await column(upTo(M).map((i) => turn * (i + 1)));
        const joint = jointReduction({
          total: product(x, y).reduction('Sum', 'j'),
          least: product(x, y).reduction('MinArgMin', 'j'),
        });
        const { total, least } = await joint.call();
        expect(await readable(total)).toEqual(upTo(M).map((i) => 6 * turn * (i + 1)));
        expect(await readable(least.values)).toEqual(
          upTo(M).map((i) => (turn > 0 ? turn : 3 * turn) * (i + 1)),
        );
        expect(await readable(least.indices)).toEqual(upTo(M).map(() => (turn > 0 ? 1 : 0)));
      }
    });

    it('takes arguments of a text, and data of the host beside tensors', async () => {
      const times = genred('p * x * y', ['p = Pm(1)', 'x = Vi(1)', 'y = Vj(1)'], {
        reduction: 'Sum',
        axis: 'j',
      });
      const [x, y] = [await column([1, 2]), await column([1, 1])];
      for (const p of [2, 3, 2]) {
        const own = await tensor(Float64Array.of(p), { device: device() });
        expect(await readable(await times(own, x, y))).toEqual([2 * p, 4 * p]);
        expect(await readable(await times([p], x, y))).toEqual([2 * p, 4 * p]);
      }
    });

    it('checks its tensors as the first does', async () => {
      const [x, y] = [await column(upTo(M)), await column(upTo(N))];
      const call = async (a: Column, options?: object): Promise<Tensor> =>
        product(a, y).sum('j', options);
      const out = empty([M, 1], place());
      for (const _ of upTo(3)) await call(x, { out });
      const fails = (code: string) => expect.objectContaining({ code }) as Error;
      await expect(call(x, { out: x })).rejects.toThrow(fails('OVERLAP'));
      await expect(call(x, { out: empty([M + 1, 1], place()) })).rejects.toThrow(
        fails('SHAPE_MISMATCH'),
      );
      await expect(call(x, { out: 3 })).rejects.toThrow(fails('INVALID_ARGUMENT'));
      await call(x, { sumScheme: 'kahan' }).catch(() => undefined);
      await expect(call(x, { sumScheme: ['kahan'] })).rejects.toThrow();
      await call(x, { dtype: 'float64' });
      await expect(call(x, { dtype: ['float64'] })).rejects.toThrow(fails('DTYPE_MISMATCH'));
      await expect(call(x, { stream: { device: device() } })).rejects.toThrow(
        fails('INVALID_ARGUMENT'),
      );
      await expect(call(x, { stream: {} })).rejects.toThrow(fails('INVALID_ARGUMENT'));
      const signal = AbortSignal.abort(new Error('ended'));
      await expect(call(x, { signal })).rejects.toThrow('ended');
      const half = empty([M, 1], { device: device() });
      await expect(call(x, { out: half })).rejects.toThrow(fails('DTYPE_MISMATCH'));
      const gone = await column(upTo(M));
      gone.dispose();
      await expect(call(gone)).rejects.toThrow(fails('DISPOSED'));
      // an output may be one tensor for two calls, and its memory that of a view
      const two = empty([2 * M, 1], place());
      await call(x, { out: two.slice([M, 2 * M]) });
      await expect(call(two.slice([0, M]), { out: two.slice([1, M + 1]) })).rejects.toThrow(
        fails('OVERLAP'),
      );
      expect(await readable(out)).toEqual(upTo(M).map((i) => i * sum(upTo(N))));
    });
  });
}
