import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { device, empty, tensor, type Device, type RowReader, type Tensor } from '@mercer/tensor';
import { npyOutput, openNpy, readNpy, writeNpy } from '@mercer/tensor/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { cdistBackward, kernels, runKernelBackward } from '../index.js';
import { matrix } from '../matrices.test-support.js';

const f64 = (rows: number, k: number, seed: number): Float64Array =>
  Float64Array.from(matrix(rows, k, seed).values);

/** Gradients of distances and kernel matrices in blocks, on these devices, beside those of whole calls. */
export function describeGradientBlocks(devices: () => readonly Device[]): void {
  const home = (): Device => devices()[0]!;
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mercer-gradient-blocks-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Little more than the least maxBytes of a call, as its message says. */
  const tight = async (call: (maxBytes: number) => Promise<unknown>): Promise<number> => {
    const refused = await call(1).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
    expect(refused).toContain('maxBytes is 1.');
    return 300 + Number(/take (\d+) bytes/.exec(refused)?.[1]);
  };

  const values = async (x: unknown): Promise<ArrayLike<number>> =>
    x instanceof Float64Array ? x : ((await (x as Tensor).toTypedArray()) as Float64Array);

  const expectSame = async (found: unknown, wanted: unknown): Promise<void> => {
    const [a, b] = [await values(found), await values(wanted)];
    expect(a.length).toBe(b.length);
    for (let at = 0; at < b.length; at++) {
      if (!(Math.abs(a[at]! - b[at]!) <= 1e-12 * Math.max(1, Math.abs(b[at]!)))) {
        expect.fail(`element ${at}: ${a[at]}, expected ${b[at]}`);
      }
    }
  };

  const counting = (): { onProgress: () => void; blocks: () => number } => {
    let seen = 0;
    return {
      onProgress: () => {
        seen++;
      },
      blocks: () => seen,
    };
  };

  const host = async (data: Float64Array, ...shape: number[]): Promise<Tensor<'float64'>> =>
    await tensor(data, { shape, device: 'cpu' });

  describe('gradients in blocks', () => {
    it.each([
      [1, 23, 31],
      [1.3, 31, 23],
      [2, 29, 30],
      [Infinity, 12, 40],
    ])('of cdist, p = %d, %d by %d, are those of the whole', async (p, m, n) => {
      const k = 5;
      const [g, x, y] = [f64(m, n, 1), f64(m, k, 2), f64(n, k, 3)];
      const wrt = p === Infinity ? (['b', 'a'] as const) : (['b', 'p', 'a'] as const);
      const tensors = [await host(g, m, n), await host(x, m, k), await host(y, n, k)] as const;
      const whole = await cdistBackward(...tensors, { p, wrt });
      const data = [
        { data: g, shape: [m, n] },
        { data: x, shape: [m, k] },
        { data: y, shape: [n, k] },
      ] as const;
      const call = (maxBytes: number): Promise<unknown> =>
        cdistBackward(...data, { p, wrt, devices: devices(), maxBytes });
      const maxBytes = await tight(call);
      const { onProgress, blocks } = counting();
      const all = { p, wrt, devices: devices(), maxBytes, onProgress };
      const found = await cdistBackward(...data, all);
      expect(blocks()).toBeGreaterThan(20);
      expect(Object.keys(found)).toEqual([...wrt]);
      for (const name of wrt) {
        const one = (found as Record<string, Tensor>)[name]!;
        expect(one.device).toBe(home());
        await expectSame(one, (whole as Record<string, Tensor>)[name]);
      }
      const only = await cdistBackward(...tensors, { ...all, wrt: ['b'] });
      await expectSame(only.b, whole.b);
    });

    it('of files go to arrays, tensors and a file, and the gradient is read once', async () => {
      const [m, n, k] = [40, 33, 3];
      const [g, x, y] = [f64(m, n, 1), f64(m, k, 2), f64(n, k, 3)];
      const whole = await cdistBackward(
        await host(g, m, n),
        await host(x, m, k),
        await host(y, n, k),
        { p: 1.7 },
      );
      for (const [name, data, shape] of [
        ['g', g, [m, n]],
        ['x', x, [m, k]],
        ['y', y, [n, k]],
      ] as const) {
        await writeNpy(join(folder, `${name}.npy`), { data, shape });
      }
      const file = await openNpy(join(folder, 'g.npy'));
      let read = 0;
      const gradient: RowReader = {
        shape: file.shape,
        dtype: file.dtype,
        readRows: (first, count, options) => {
          read += count;
          return file.readRows(first, count, options);
        },
      };
      const a = await openNpy(join(folder, 'x.npy'));
      const b = await openNpy(join(folder, 'y.npy'));
      const rest = { p: 1.7, devices: devices() };
      const maxBytes = await tight((bytes) =>
        cdistBackward(gradient, a, b, { ...rest, maxBytes: bytes }),
      );
      const { onProgress, blocks } = counting();
      const out = { a: new Float64Array(m * k), b: npyOutput(join(folder, 'db.npy')) };
      read = 0;
      const found = await cdistBackward(gradient, a, b, { ...rest, maxBytes, out, onProgress });
      expect(blocks()).toBeGreaterThan(20);
      expect(found.a).toBe(out.a);
      expect(found.b).toBe(out.b);
      expect(read).toBe(m);
      await expectSame(out.a, whole.a);
      const { data, shape } = await readNpy(out.b.path);
      expect(shape).toEqual([n, k]);
      await expectSame(data, whole.b);
      // without options, on the default device
      const plain = await cdistBackward(gradient, a, b, { p: 1.7, out: { a: out.a } });
      await expectSame(plain.b, whole.b);
      const into = empty([m, k], { device: 'cpu', dtype: 'float64' });
      const [dp] = [empty([], { device: home(), dtype: 'float64' })];
      const wrt = ['p', 'a'] as const;
      const given = await cdistBackward(gradient, a, b, { ...rest, wrt, out: { a: into, p: dp } });
      expect(given.a).toBe(into);
      expect(given.p).toBe(dp);
      await expectSame(into, whole.a);
      for (const one of [file, a, b]) await one.close();
    });

    it('of runKernel have its parameters, its scale and its diagonal, for one input and for two', async () => {
      const [m, n, k] = [37, 29, 4];
      const x = await host(f64(m, k, 3), m, k);
      const y = await host(f64(n, k, 4), n, k);
      const scale = await tensor(Float64Array.of(1, 0.5, 2, 1), { device: home() });
      const bandwidth = await tensor(Float64Array.of(1.5), { device: 'cpu' });
      const near = await bandwidth.to(home());
      const [xs, ys] = [await x.to(home()), await y.to(home())];
      const wide = { devices: devices() };
      for (const kernel of [kernels.gaussian, kernels.matern32]) {
        const g = await host(f64(m, m, 5), m, m);
        const there = await g.to(home());
        const values = { bandwidth, scale, regularization: 0.25 };
        const one = { ...values, wrt: ['bandwidth', 'a', 'scale', 'regularization'] as const };
        const whole = await runKernelBackward(kernel, there, xs, { ...one, bandwidth: near });
        const maxBytes = await tight((bytes) =>
          runKernelBackward(kernel, g, x, { ...one, ...wide, maxBytes: bytes }),
        );
        const { onProgress, blocks } = counting();
        const found = await runKernelBackward(kernel, g, x, {
          ...one,
          ...wide,
          maxBytes: 2 * maxBytes,
          onProgress,
        });
        expect(blocks()).toBeGreaterThan(10);
        for (const name of one.wrt) await expectSame(found[name], whole[name]);
        const h = await host(f64(m, n, 6), m, n);
        const hs = await h.to(home());
        const two = { ...values, regularizationOffset: [3, 7] as const };
        const pair = await runKernelBackward(kernel, hs, xs, ys, { ...two, bandwidth: near });
        const cut = await runKernelBackward(kernel, h, x, y, {
          ...two,
          ...wide,
          maxBytes: 4 * maxBytes,
        });
        await expectSame(cut.a, pair.a);
        await expectSame(cut.b, pair.b);
      }
      const cosine = { ...kernels.dot, kernel: 'cosine' } as const;
      const g = await host(f64(m, n, 5), m, n);
      const whole = await runKernelBackward(cosine, await g.to(home()), xs, ys);
      const found = await runKernelBackward(cosine, g, x, y, { ...wide, maxBytes: 2 ** 13 });
      await expectSame(found.a, whole.a);
      await expectSame(found.b, whole.b);
    });

    it('of batches are summed over what was broadcast, and arrays lie in any order', async () => {
      const [m, n, k] = [19, 11, 3];
      const g = f64(2 * m, n, 1);
      const x = await host(f64(2 * m, k, 5), 2, m, k);
      const y = await host(f64(n, k, 6), n, k);
      const whole = await cdistBackward(await host(g, 2, m, n), x, y, { p: 1 });
      // the values of pairs column by column, in every second row of a larger array
      const data = new Float64Array(2 * (2 * m) * n + 3);
      for (let at = 0; at < g.length; at++) {
        const [entry, i, j] = [Math.floor(at / (m * n)), Math.floor(at / n) % m, at % n];
        data[3 + entry * 2 * m * n + j * 2 * m + 2 * i] = g[at]!;
      }
      const gradient = { data, shape: [2, m, n], offset: 3, strides: [2 * m * n, 2, 2 * m] };
      const { onProgress, blocks } = counting();
      const options = { p: 1, devices: devices(), maxBytes: 4000, onProgress };
      const found = await cdistBackward(gradient, x, y, options);
      expect(blocks()).toBeGreaterThan(1);
      expect(found.a.shape).toEqual([2, m, k]);
      expect(found.b.shape).toEqual([n, k]);
      await expectSame(found.a, whole.a);
      await expectSame(found.b, whole.b);
    });

    it('have the same bits on one device, two and three', async () => {
      const [m, n, k] = [9000, 60, 2];
      const [g, x, y] = [f64(m, n, 1), f64(m, k, 2), f64(n, k, 3)];
      const all = devices();
      const call = async (some: readonly Device[]): Promise<readonly ArrayLike<number>[]> => {
        const found = await cdistBackward(
          { data: g, shape: [m, n] },
          { data: x, shape: [m, k] },
          { data: y, shape: [n, k] },
          { p: 2, devices: some, maxBytes: 2 ** 20, wrt: ['a', 'b', 'p'] },
        );
        return Promise.all([found.a, found.b, found.p].map(values));
      };
      const one = await call([home()]);
      expect(await call([home(), all[1] ?? home()])).toEqual(one);
      expect(await call([home(), all[1] ?? home(), all[2] ?? home()])).toEqual(one);
    });

    it('of no rows are zeros', async () => {
      const none = { data: new Float64Array(0), shape: [0, 3] };
      const some = { data: f64(2, 3, 1), shape: [2, 3] };
      const gradient = { data: new Float64Array(0), shape: [0, 2] };
      const found = await cdistBackward(gradient, none, some, {
        devices: devices(),
        wrt: ['a', 'b', 'p'],
      });
      expect(found.a.shape).toEqual([0, 3]);
      expect(await values(found.b)).toEqual(new Float64Array(6));
      expect(await values(found.p)).toEqual(new Float64Array(1));
    });

    it('keep no memory and leave what they write as it was where they end early', async () => {
      const [m, k] = [64, 2];
      const [g, x] = [f64(m, m, 1), f64(m, k, 2)];
      const rows = { data: x, shape: [m, k] };
      const path = join(folder, 'kept.npy');
      await writeNpy(path, { data: Float64Array.of(7), shape: [1] });
      const before = await readdir(folder);
      const reader = (fails: (first: number) => void): RowReader => ({
        shape: [m, m],
        dtype: 'float64',
        readRows: async (first, count) => {
          await Promise.resolve();
          if (count > 0) fails(first);
          return { data: g.slice(m * first, m * (first + count)), shape: [count, m] };
        },
      });
      const taken = new Float64Array(m * k).fill(3);
      const kept = await memoryKept(home(), async () => {
        const rest = { devices: devices(), maxBytes: 8000 };
        const out = { a: taken, b: npyOutput(path) };
        const broken = reader((first) => {
          if (first > 20) throw new Error('the disk is gone');
        });
        await expect(cdistBackward(broken, rows, rows, { ...rest, out })).rejects.toThrow(
          'the disk is gone',
        );
        const controller = new AbortController();
        const { signal } = controller;
        const stopping = reader((first) => {
          if (first > 20) controller.abort(new Error('enough'));
        });
        await expect(cdistBackward(stopping, rows, rows, { ...rest, out, signal })).rejects.toThrow(
          'enough',
        );
        let seen = 0;
        const onProgress = (): void => {
          if (++seen === 3) throw new Error('no more');
        };
        const gradient = { data: g, shape: [m, m] };
        await expect(
          cdistBackward(gradient, rows, rows, { ...rest, out, onProgress }),
        ).rejects.toThrow('no more');
        const found = await cdistBackward(gradient, rows, rows, rest);
        for (const one of Object.values(found)) one.dispose();
      });
      expect(kept).toEqual(NOTHING);
      expect(await readdir(folder)).toEqual(before);
      expect(new Set(taken)).toEqual(new Set([3]));
      expect((await readNpy(path)).data).toEqual(Float64Array.of(7));
    });

    it('refuse what they cannot do, naming it', async () => {
      const x = await host(Float64Array.of(1, 2, 3, 4), 2, 2);
      const g = await host(Float64Array.of(1, 1, 1, 1), 2, 2);
      const refused = async (options: object, what: RegExp): Promise<void> => {
        await expect(cdistBackward(g, x, x, options)).rejects.toThrow(what);
      };
      await refused({ out: { a: new Float64Array(3) } }, /a: out has 3 elements.*\[2, 2\]/);
      await refused({ out: { a: new Float32Array(4) } }, /Float32Array and the result is float64/);
      await refused(
        { wrt: ['p'], out: { p: new Float64Array(1) } },
        /parameter is small: pass a tensor/,
      );
      await refused({ out: { c: new Float64Array(4) } }, /out has 'c'/);
      const both = empty([2, 2], { device: 'cpu', dtype: 'float64' });
      await refused({ maxBytes: 2 ** 20, out: { a: both, b: both } }, /share memory/);
      await refused({ maxBytes: 2 ** 20, out: { a: x } }, /memory/);
      await refused({ devices: [] }, /devices is .*Pass a list with at least one/);
      await refused({ maxBytes: 0.5 }, /maxBytes is 0.5/);
      await refused({ maxBytes: 2 ** 20, q: 2 }, /q/);
      await refused({ maxBytes: 2 ** 20, p: -1 }, /p is -1/);
      await refused({ maxBytes: 2 ** 20, wrt: ['q'] }, /wrt names "q"/);
      await refused({ maxBytes: 2 ** 20, p: Infinity, wrt: ['p'] }, /p = Infinity/);
      await refused(
        { maxBytes: 2 ** 20, stream: device('cpu').defaultStream },
        /stream is for one/,
      );
      const wrong = { data: new Float64Array(6), shape: [2, 3] };
      await expect(cdistBackward(wrong, x, x)).rejects.toThrow(
        /gradient has shape \[2, 3\], and a and b have 2 and 2 rows/,
      );
      await expect(cdistBackward(g, x, wrong)).rejects.toThrow(/features|columns/);
      await expect(cdistBackward.prepare(g, x, x, { maxBytes: 3 } as object)).rejects.toThrow(
        /cdistBackward.prepare: maxBytes is \d+. That cuts rows into blocks/,
      );
      const prepared = runKernelBackward.prepare(kernels.dot, g, x, x, {
        devices: ['cpu'],
      } as never);
      await expect(prepared).rejects.toThrow(/runKernelBackward.prepare: devices is an array/);
      const few = { bandwidth: 1, maxBytes: 2 ** 20, wrt: ['alpha'] } as object;
      await expect(
        runKernelBackward(kernels.gaussian, g, x, few as { bandwidth: number }),
      ).rejects.toThrow(/wrt names "alpha"/);
      const gone = x.view();
      gone.dispose();
      await expect(cdistBackward(g, gone, x, { maxBytes: 2 ** 20 })).rejects.toThrow(/disposed/);
    });
  });
}
