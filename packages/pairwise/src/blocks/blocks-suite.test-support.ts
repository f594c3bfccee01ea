import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  device,
  empty,
  tensor,
  type Device,
  type Progress,
  type RowReader,
  type Tensor,
} from '@mercer/tensor';
import { npyOutput, openNpy, readNpy, writeNpy } from '@mercer/tensor/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { distanceOracle } from '../cdist-reference.test-support.js';
import { cdist, kernels, runKernel } from '../index.js';
import { matrix, UNIT } from '../matrices.test-support.js';

const f32 = (rows: number, k: number, seed: number): Float32Array =>
  Float32Array.from(matrix(rows, k, seed).values);

/** Distances and kernel matrices in blocks, on these devices. */
export function describeBlocks(devices: () => readonly Device[]): void {
  const home = (): Device => devices()[0]!;
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mercer-blocks-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** The least maxBytes of a call, as its message says. */
  const leastOf = async (call: (maxBytes: number) => Promise<unknown>): Promise<number> => {
    const refused = await call(1).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
    expect(refused).toContain('maxBytes is 1.');
    return Number(/take (\d+) bytes/.exec(refused)?.[1]);
  };

  const counting = (): { onProgress: (p: Progress) => void; blocks: () => number } => {
    const seen: Progress[] = [];
    return {
      onProgress: (one) => {
        seen.push(one);
      },
      blocks: () => {
        expect(seen.map(({ done }) => done)).toEqual(seen.map((_, at) => at + 1));
        expect(seen.at(-1)?.total).toBe(seen.length);
        return seen.length;
      },
    };
  };

  const close = (got: ArrayLike<number>, wanted: ArrayLike<number>): void => {
    expect(got.length).toBe(wanted.length);
    for (let at = 0; at < wanted.length; at++) {
      const far = Math.abs(got[at]! - wanted[at]!);
      if (!(far <= 4e-6 * Math.max(1, Math.abs(wanted[at]!)))) {
        expect.fail(`element ${at}: ${got[at]}, expected ${wanted[at]}`);
      }
    }
  };

  describe('in blocks', () => {
    it.each([1, 2, 1.3, Infinity])(
      'cdist, p = %d, is within its bound, into an array',
      async (p) => {
        for (const dtype of ['float32', 'float64'] as const) {
          const Floats = dtype === 'float32' ? Float32Array : Float64Array;
          const [a, b] = [matrix(23, 5, 1), matrix(31, 5, 2)];
          const x = { data: Floats.from(a.values), shape: [23, 5] };
          const y = { data: Floats.from(b.values), shape: [31, 5] };
          const out = new Floats(23 * 31);
          const call = (maxBytes: number): Promise<unknown> =>
            cdist(x, y, { p, out, devices: devices(), maxBytes });
          const maxBytes = 3 * (await leastOf(call));
          expect(new Set(out)).toEqual(new Set([0]));
          const { onProgress, blocks } = counting();
          const given = await cdist(x, y, { p, out, devices: devices(), maxBytes, onProgress });
          expect(given).toBe(out);
          expect(blocks()).toBeGreaterThan(20);
          const { values, bounds } = distanceOracle(a, b, p, false);
          const unit = UNIT[dtype] * (dtype === 'float64' ? 2 : 1);
          for (const [at, want] of values.entries()) {
            const far = Math.abs(out[at]! - want);
            expect(far).toBeLessThanOrEqual((bounds[at] ?? NaN) * unit * Math.abs(want));
          }
        }
      },
    );

    it('rows of files go to a file, by rows and by parts of rows', async () => {
      const [m, n, k] = [40, 70, 3];
      const [x, y] = [f32(m, k, 1), f32(n, k, 2)];
      const whole = await cdist(
        { data: x, shape: [m, k] },
        { data: y, shape: [n, k] },
        { device: home() },
      );
      const wanted = await whole.toTypedArray();
      await writeNpy(join(folder, 'x.npy'), { data: x, shape: [m, k] });
      await writeNpy(join(folder, 'y.npy'), { data: y, shape: [n, k] });
      const a = await openNpy(join(folder, 'x.npy'));
      const b = await openNpy(join(folder, 'y.npy'));
      const out = npyOutput(join(folder, 'd.npy'));
      for (const maxBytes of [1500, 2 ** 20]) {
        const given = await cdist(a, b, { out, devices: devices(), maxBytes });
        expect(given).toBe(out);
        const { data, shape } = await readNpy(out.path);
        expect(shape).toEqual([m, n]);
        close(data as Float32Array, wanted);
      }
      // without options too, on the default device, and with one side in memory
      const plain = await cdist(a, { data: y, shape: [n, k] }, { device: home() });
      expect(plain.device).toBe(home());
      close(await plain.toTypedArray(), wanted);
      await a.close();
      await b.close();
    });

    it('runKernel has its parameters, its scale and its diagonal, for one input and for two', async () => {
      const [m, n, k] = [37, 29, 4];
      const x = await tensor(f32(m, k, 3), { shape: [m, k], device: 'cpu' });
      const y = await tensor(f32(n, k, 4), { shape: [n, k], device: 'cpu' });
      const scale = await tensor(Float32Array.of(1, 0.5, 2, 1), { device: 'cpu' });
      const bandwidth = await tensor(Float32Array.of(1.5), { device: 'cpu' });
      const options = { bandwidth, scale, regularization: 0.25 } as const;
      const wide = { maxBytes: 2500, devices: devices() };
      const one = await runKernel(kernels.gaussian, x, options);
      const { onProgress, blocks } = counting();
      const out = new Float32Array(m * m);
      expect(await runKernel(kernels.gaussian, x, { ...options, ...wide, out, onProgress })).toBe(
        out,
      );
      expect(blocks()).toBeGreaterThan(10);
      close(out, await one.toTypedArray());
      expect(out[5 * m + 5]).toBe(1.25);
      const two = await runKernel(kernels.gaussian, x, y, {
        ...options,
        regularizationOffset: [3, 7],
      });
      const made = await runKernel(kernels.gaussian, x, y, {
        ...options,
        ...wide,
        maxBytes: wide.maxBytes + m * n * 4,
        regularizationOffset: [3, 7],
      });
      expect(made.device).toBe(home());
      close(await made.toTypedArray(), await two.toTypedArray());
      const signed = { ...kernels.dot, kernel: 'cosine' } as const;
      const cosine = await runKernel(signed, x, y);
      const into = empty([m, n], { device: 'cpu' });
      expect(await runKernel(signed, x, y, { ...wide, out: into })).toBe(into);
      close(await into.toTypedArray(), await cosine.toTypedArray());
      for (const each of [x, y, scale, bandwidth, one, two, made, cosine, into]) each.dispose();
    });

    it('takes batches, arrays in any order, and tensors of its devices', async () => {
      const data = f32(2 * 19, 3, 5);
      const x = await tensor(data, { shape: [2, 19, 3], device: home() });
      const y = f32(11, 3, 6);
      // the second side column by column
      const columns = Float32Array.from(y, (_, at) => y[(at % 11) * 3 + Math.floor(at / 11)]!);
      const b = { data: columns, shape: [11, 3], fortranOrder: true };
      const whole = await (await cdist(x, b, { p: 1 })).toTypedArray();
      // results stand in every second column of a larger array
      const out = {
        data: new Float32Array(5 + 2 * 19 * 22),
        shape: [2, 19, 11],
        offset: 5,
        strides: [19 * 22, 22, 2],
      };
      const { onProgress, blocks } = counting();
      await cdist(x, b, { p: 1, out, devices: devices(), maxBytes: 1200, onProgress });
      expect(blocks()).toBeGreaterThan(3);
      close(
        Float32Array.from(whole, (_, at) => out.data[5 + 2 * at]!),
        whole,
      );
      expect(out.data.filter((_, at) => at < 5 || (at - 5) % 2 === 1)).toEqual(
        new Float32Array(5 + 19 * 22),
      );
      const first = { data: new Float32Array(2 * 19 * 11), shape: [2, 19, 11], fortranOrder: true };
      await cdist(x, b, { p: 1, out: first });
      close(
        Float32Array.from(whole, (_, at) => {
          const [i, j] = [Math.floor(at / 11) % 19, at % 11];
          return first.data[Math.floor(at / 209) + 2 * i + 38 * j]!;
        }),
        whole,
      );
      x.dispose();
    });

    it('has the same elements on one device, two and three', async () => {
      const [x, y] = [f32(3000, 4, 1), f32(90, 4, 2)];
      const rows = { data: x, shape: [3000, 4] };
      const all = devices();
      const call = async (some: readonly Device[]): Promise<Float32Array> => {
        const out = new Float32Array(3000 * 90);
        await cdist(rows, { data: y, shape: [90, 4] }, { devices: some, out, maxBytes: 2 ** 18 });
        return out;
      };
      const one = await call([home()]);
      expect(await call([home(), all[1] ?? home()])).toEqual(one);
      expect(await call([home(), all[1] ?? home(), all[2] ?? home()])).toEqual(one);
    });

    it('computes nothing of no rows, and more devices than rows', async () => {
      const none = { data: new Float32Array(0), shape: [0, 3] };
      const some = { data: f32(2, 3, 1), shape: [2, 3] };
      const out = new Float32Array(0);
      expect(await cdist(none, some, { out, devices: devices() })).toBe(out);
      const path = join(folder, 'none.npy');
      await cdist(some, none, { out: npyOutput(path), devices: devices() });
      expect((await readNpy(path)).shape).toEqual([2, 0]);
      const many = [...devices(), ...devices(), ...devices()];
      const d = await cdist(some, some, { devices: many });
      expect(d.shape).toEqual([2, 2]);
      expect((await d.toTypedArray())[3]).toBe(0);
    });

    it('keeps no memory and leaves files as they were, also where it ends early', async () => {
      const [x, y] = [f32(64, 2, 1), f32(64, 2, 2)];
      const rows = { data: x, shape: [64, 2] };
      const path = join(folder, 'kept.npy');
      await writeNpy(path, { data: Float32Array.of(7), shape: [1] });
      const before = await readdir(folder);
      const reader = (fails: (first: number) => void): RowReader => ({
        shape: [64, 2],
        dtype: 'float32',
        readRows: async (first, count) => {
          await Promise.resolve();
          if (count > 0) fails(first);
          return { data: y.slice(2 * first, 2 * (first + count)), shape: [count, 2] };
        },
      });
      const kept = await memoryKept(home(), async () => {
        const rest = { devices: devices(), maxBytes: 1500 };
        const broken = reader((first) => {
          if (first > 20) throw new Error('the disk is gone');
        });
        const out = npyOutput(path);
        await expect(cdist(rows, broken, { ...rest, out })).rejects.toThrow('the disk is gone');
        const controller = new AbortController();
        const stopping = reader((first) => {
          if (first > 20) controller.abort(new Error('enough'));
        });
        const { signal } = controller;
        await expect(cdist(rows, stopping, { ...rest, out, signal })).rejects.toThrow('enough');
        let seen = 0;
        const onProgress = (): void => {
          if (++seen === 3) throw new Error('no more');
        };
        await expect(
          cdist(rows, { data: y, shape: [64, 2] }, { ...rest, out, onProgress }),
        ).rejects.toThrow('no more');
        const gone = join(folder, 'no such folder', 'out.npy');
        await expect(cdist(rows, rows, { ...rest, out: npyOutput(gone) })).rejects.toThrow(
          /no such file or folder/,
        );
        await cdist(rows, rows, { ...rest, out: new Float32Array(64 * 64) });
        const d = await cdist(rows, rows, { devices: devices(), maxBytes: 2 ** 20 });
        d.dispose();
      });
      expect(kept).toEqual(NOTHING);
      expect(await readdir(folder)).toEqual(before);
      expect((await readNpy(path)).data).toEqual(Float32Array.of(7));
    });

    it('refuses what it cannot do, naming it', async () => {
      const x = await tensor(
        [
          [1, 2],
          [3, 4],
        ],
        { device: 'cpu' },
      );
      const refused = async (options: object, what: RegExp): Promise<void> => {
        await expect(cdist(x, x, options)).rejects.toThrow(what);
      };
      await refused({ out: new Float32Array(3) }, /out has 3 elements.*\[2, 2\]/);
      await refused({ out: new Float64Array(4) }, /Float64Array and the result is float32/);
      await refused({ out: new Int32Array(4) }, /out is .*Int32Array/);
      await refused({ out: { data: new Float32Array(4), shape: [4] } }, /out has shape \[4\]/);
      const strides = [1, 1];
      await refused(
        { out: { data: new Float32Array(4), shape: [2, 2], strides } },
        /strides \[1, 1\]/,
      );
      const short = { data: new Float32Array(3), shape: [2, 2] };
      await refused({ out: short }, /its data has 3 elements/);
      await refused({ out: {} }, /out is/);
      await refused({ devices: [] }, /devices is .*Pass a list with at least one/);
      await refused({ maxBytes: 0.5 }, /maxBytes is 0.5/);
      await refused({ maxByte: 3 }, /maxBytes/);
      await refused({ maxBytes: 2 ** 20, q: 2 }, /q/);
      await refused({ maxBytes: 2 ** 20, p: -1 }, /p is -1/);
      await refused(
        { maxBytes: 2 ** 20, stream: device('cpu').defaultStream },
        /stream is for one/,
      );
      await refused({ maxBytes: 2 ** 20, out: empty([3, 2], { device: 'cpu' }) }, /out/);
      await refused({ maxBytes: 2 ** 20, out: x }, /memory/);
      const flat = { shape: [4], dtype: 'float32', readRows: () => Promise.reject(new Error()) };
      await expect(cdist(flat as RowReader, x)).rejects.toThrow(/a has shape \[4\]/);
      await expect(cdist(x, [[1, 2, 3]], { maxBytes: 2 ** 20 })).rejects.toThrow(
        /features|columns/,
      );
      await expect(cdist.prepare(x, x, { maxBytes: 3 } as object)).rejects.toThrow(
        /cdist.prepare: maxBytes is \d+. That cuts rows into blocks/,
      );
      const prepared = runKernel.prepare(kernels.dot, x, x, { devices: ['cpu'] } as never);
      await expect(prepared).rejects.toThrow(/runKernel.prepare: devices is an array.*cuts rows/);
      const both = { symmetric: true, maxBytes: 2 ** 20 };
      await expect(runKernel(kernels.dot, x, x.view(), both)).rejects.toThrow(/symmetric is true/);
      const gone: Tensor<'float32'> = x.view();
      gone.dispose();
      await expect(cdist(gone, x, { maxBytes: 2 ** 20 })).rejects.toThrow(/disposed/);
    });
  });
}
