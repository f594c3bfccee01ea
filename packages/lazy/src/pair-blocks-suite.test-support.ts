import { device, empty, full, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rangesFromMatrix,
  rowNumberI,
  rowNumberJ,
  type LazyTensor,
  type NonzeroOptions,
  type SelectedPairs,
} from './index.js';
import { neighbours, readPairs } from './nonzero-suite.test-support.js';
import { upload, wholeNumbers } from './reference.test-support.js';
import { readerOf } from './shards-suite.test-support.js';

/** The least maxBytes that a selection takes, as its message says. */
async function leastOf(
  mask: LazyTensor,
  axis: 'i' | 'j',
  options: NonzeroOptions,
): Promise<number> {
  const refused = await mask.nonzero(axis, { ...options, maxBytes: 1 }).then(
    () => '',
    (error: unknown) => (error as Error).message,
  );
  const [, bytes] = /take (\d+) bytes/.exec(refused) ?? [];
  expect(refused).toContain('nonzero: maxBytes is 1.');
  return Number(bytes);
}

/** Pairs that are found in blocks, and how many blocks there were. */
async function cut(
  mask: LazyTensor,
  axis: 'i' | 'j',
  options: NonzeroOptions,
): Promise<{ readonly found: SelectedPairs; readonly blocks: number }> {
  const seen: number[] = [];
  let blocks = 0;
  const found = await mask.nonzero(axis, {
    ...options,
    onProgress: ({ done, total }) => {
      seen.push(done);
      blocks = total;
    },
  });
  expect(seen).toEqual(Array.from({ length: blocks }, (_, at) => at + 1));
  return { found, blocks };
}

/** Pairs of rows that are found block by block, on these devices, against loops; inputs lie on the first, or in host memory. */
export function describePairBlocks(devices: () => readonly Device[]): void {
  const home = (): Device => devices()[0]!;

  describe('nonzero in blocks', () => {
    it.each([
      ['j', 'float32', [], true, 20],
      ['i', 'float64', [3], true, 10],
      ['j', 'float64', [3], false, 5],
      ['i', 'float32', [], false, 30],
    ] as const)(
      'finds the pairs of loops over %s in %s, batch %j',
      async (axis, dtype, batch, valued, times) => {
        const [x, y] = [wholeNumbers(1, 37, 2, batch), wholeNumbers(2, 70, 2)];
        const a = lazyI(await upload(x, dtype, home()));
        const b = lazyJ({
          data: dtype === 'float32' ? Float32Array.from(y.values) : Float64Array.from(y.values),
          shape: [70, 2],
        });
        const mask = a.sqdist(b).le(4);
        const options = { devices: devices(), ...(valued && { values: b.sub(a) }) };
        const maxBytes = times * (await leastOf(mask, axis, options));
        const { found, blocks } = await cut(mask, axis, { ...options, maxBytes });
        expect(blocks).toBeGreaterThan(30);
        const wanted = neighbours(x, y, axis);
        expect(wanted.indices.length).toBeGreaterThan(100);
        expect(await readPairs(found)).toEqual(valued ? wanted : { ...wanted, values: [] });
        for (const one of [found.offsets, found.indices]) expect(one.device).toBe(home());
        expect(found.values?.shape).toEqual(valued ? [wanted.indices.length, 2] : undefined);
        expect(found.values?.dtype).toBe(valued ? dtype : undefined);
      },
    );

    it('are the same within ranges, with row numbers, values of pairs and parameters, on any number of devices', async () => {
      const spans = (count: number): [number, number][] => [
        [0, count / 2],
        [count / 2, count],
      ];
      const ranges = rangesFromMatrix(spans(20), spans(30), [
        [1, 0],
        [1, 1],
      ]);
      const numbers = Float32Array.from(wholeNumbers(3, 600, 1).values);
      const mask = lazyPair({ data: numbers, shape: [20, 30] })
        .mul(param([2]))
        .add(rowNumberI())
        .gt(rowNumberJ().sub(5));
      const values = rowNumberI().mul(100).add(rowNumberJ());
      for (const axis of ['i', 'j'] as const) {
        const options = { values, ranges };
        const whole = await readPairs(await mask.nonzero(axis, { ...options, device: home() }));
        expect(whole.indices.length).toBeGreaterThan(100);
        for (const some of [devices().slice(0, 1), [...devices(), home()]]) {
          const given = { ...options, devices: some };
          const maxBytes = 10 * (await leastOf(mask, axis, given));
          const { found, blocks } = await cut(mask, axis, { ...given, maxBytes });
          expect(blocks).toBeGreaterThan(10);
          expect(await readPairs(found)).toEqual(whole);
        }
      }
    });

    it('read the rows of a file as they are needed, also without an option', async () => {
      const [x, y] = [wholeNumbers(1, 37, 2), wholeNumbers(2, 70, 2)];
      const read: number[] = [];
      const file = readerOf(Float32Array.from(y.values), [70, 2], (_, count) => read.push(count));
      const a = lazyI({ data: Float32Array.from(x.values), shape: [37, 2] });
      const mask = a.sqdist(lazyJ(file)).le(4);
      const wanted = { ...neighbours(x, y, 'j'), values: [] };
      const maxBytes = 10 * (await leastOf(mask, 'j', { device: home() }));
      const { found, blocks } = await cut(mask, 'j', { device: home(), maxBytes });
      expect(blocks).toBeGreaterThan(37);
      expect(Math.max(...read)).toBeLessThan(70);
      expect(await readPairs(found)).toEqual(wanted);
      expect(await readPairs(await mask.nonzero('j', { device: home() }))).toEqual(wanted);
    });

    it('fill tensors of the device or of the host, whole or not at all', async () => {
      const [x, y] = [wholeNumbers(1, 37, 2), wholeNumbers(2, 70, 2)];
      const a = lazyI(await upload(x, 'float32', home()));
      const b = lazyJ(await upload(y, 'float32', home()));
      const mask = a.sqdist(b).le(4);
      const wanted = neighbours(x, y, 'j');
      const count = wanted.indices.length;
      const options = { devices: devices(), values: b.sub(a), maxBytes: 4000 };
      const host = { device: 'cpu' } as const;
      const offsets = await full([38], 9, { ...host, dtype: 'int64' });
      const indices = await full([count + 2], -7, { device: home(), dtype: 'int32' });
      const values = await full([count, 2], -7, { ...host, dtype: 'float32' });
      const short = empty([count - 1, 2], { ...host, dtype: 'float32' });
      await expect(
        mask.nonzero('j', { ...options, out: { offsets, indices, values: short } }),
      ).rejects.toThrow(`values: out has room for ${count - 1} pairs, and there are ${count}`);
      expect(new Set(await offsets.toTypedArray())).toEqual(new Set([9n]));
      const out = { offsets, indices, values };
      const { found, blocks } = await cut(mask, 'j', { ...options, out });
      expect(blocks).toBeGreaterThan(4);
      expect(found.offsets).toBe(offsets);
      expect(await readPairs(found)).toEqual(wanted);
      expect(await readPairs(out)).toEqual({ ...wanted, indices: [...wanted.indices, -7, -7] });
    });

    it('count more rows than float32 does', async () => {
      const rows = 2 ** 24 + 3;
      const y = new Float32Array(rows).fill(1);
      y[2 ** 24 + 1] = 0;
      const mask = lazyI([[0], [0.5]]).eq(lazyJ({ data: y, shape: [rows, 1] }));
      await expect(mask.nonzero('j', { device: home() })).rejects.toThrow(/whole in float32/);
      const found = await mask.nonzero('j', { devices: devices() });
      const wanted = { offsets: [0n, 1n, 1n], indices: [2 ** 24 + 1], values: [] };
      expect(await readPairs(found)).toEqual(wanted);
    });

    it('give empty results, and keep no memory', async () => {
      const x = await tensor([[1], [2]], { device: home() });
      const none: Tensor<'float32'> = empty([0, 1], { device: home(), dtype: 'float32' });
      const kept = await memoryKept(home(), async () => {
        for (const [of, rows] of [
          [lazyI(x).gt(lazyJ(x).add(5)), 2],
          [lazyI(x).sub(lazyJ(none)), 2],
          [lazyI(none).sub(lazyJ(x)), 0],
        ] as const) {
          const found = await of.nonzero('j', { values: of.concat(1), devices: devices() });
          expect(await readPairs(found)).toEqual({
            offsets: Array.from({ length: rows + 1 }, () => 0n),
            indices: [],
            values: [],
          });
          expect(found.values?.shape).toEqual([0, 2]);
          for (const one of [found.offsets, found.indices, found.values]) one?.dispose();
        }
        const stop = new AbortController();
        const onProgress = (): void => {
          stop.abort(new Error('enough'));
        };
        const mask = lazyI(x).sub(lazyJ([[1], [3]]));
        const options = { devices: devices(), maxBytes: 100, onProgress, signal: stop.signal };
        await expect(mask.nonzero('j', options)).rejects.toThrow('enough');
        await home().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('refuse what does not go with blocks', async () => {
      const mask = lazyI([[1]]).sub(lazyJ([[1]]));
      const refused = async (options: NonzeroOptions, what: RegExp): Promise<void> => {
        await expect(mask.nonzero('j', options)).rejects.toThrow(what);
      };
      const stream = device('cpu').defaultStream;
      await refused({ devices: ['cpu'], stream }, /stream is for one launch/);
      await refused({ devices: ['cpu'], device: 'cpu' }, /device and devices/);
      await refused({ devices: [] }, /devices is .*Pass a list with at least one/);
      await refused({ maxBytes: 0 }, /maxBytes is 0/);
      const out = { indices: empty([9, 1], { device: 'cpu', dtype: 'int32' }) };
      await refused({ devices: ['cpu'], out }, /indices/);
    });
  });
}
