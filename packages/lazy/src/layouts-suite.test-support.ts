import fc from 'fast-check';
import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept } from '../../tensor/test/memory-kept.mjs';
import { lazy, lazyI, lazyJ, param, type LazyDType, type LazyReduction } from './index.js';
import {
  expectResult,
  lazyReduction,
  numbers,
  reference,
  upload,
  type Meaning,
  type Numbers,
} from './reference.test-support.js';

const DIM = 2;

/** How the numbers of a variable lie in memory. */
const LAYOUTS = ['dense', 'padded', 'columns', 'reversed', 'everySecond'] as const;
type Layout = (typeof LAYOUTS)[number];

/** The numbers as a tensor with other strides than row-major. */
async function laidOut(
  data: Numbers,
  layout: Layout,
  dtype: LazyDType,
  device: Device,
): Promise<Tensor<LazyDType>> {
  const { batch, rows, dim, values } = data;
  const options = { dtype, device };
  if (layout === 'dense') return upload(data, dtype, device);
  const whole = [...batch, rows, dim];
  const plain = await tensor(values, { ...options, shape: whole });
  const skip = batch.map(() => null);
  if (layout === 'columns') {
    const turned = empty([...batch, dim, rows], options);
    await turned.transpose().copyFrom(plain);
    return turned.transpose();
  }
  const wide = {
    padded: [
      [...batch, rows + 1, dim + 3],
      [0, rows],
      [1, dim + 1],
    ],
    reversed: [whole, [-1, null, -1], null],
    everySecond: [[...batch, 2 * rows, dim], [0, null, 2], null],
  } as const;
  const [shape, rowRange, dimRange] = wide[layout];
  const target = empty(shape, options).slice(...skip, rows === 0 ? [0, 0] : rowRange, dimRange);
  await target.copyFrom(plain);
  return target;
}

/** Batch axes that broadcast with [3, 2]: each left out, 1, or whole. */
const batches = fc.constantFrom<readonly number[]>([], [1], [2], [3, 1], [1, 2], [3, 2], [1, 1]);
const layouts = fc.constantFrom(...LAYOUTS);
const rows = fc.constantFrom(0, 1, 2, 5, 17);

/** Shapes, strides and batches of any kind give what loops over dense data give. */
export function describeLayouts(device: () => Device): void {
  describe('layouts', () => {
    it(
      'takes every layout of variables whose batch axes broadcast',
      { timeout: 120_000 },
      async () => {
        const seen = new Map<string, number>();
        const count = (key: string): Map<string, number> => seen.set(key, (seen.get(key) ?? 0) + 1);
        await fc.assert(
          fc.asyncProperty(
            fc.record({ m: rows, n: rows, seed: fc.integer({ min: 0, max: 1000 }) }),
            fc.tuple(batches, batches, batches),
            fc.tuple(layouts, layouts),
            fc.constantFrom<LazyDType>('float32', 'float64'),
            fc.boolean(),
            async ({ m, n, seed }, [batchX, batchY, batchP], [layoutX, layoutY], dtype, isOut) => {
              const data = [
                numbers(seed, m, DIM, { batch: batchX }),
                numbers(seed + 1, n, DIM, { batch: batchY }),
                numbers(seed + 2, 1, 1, { batch: batchP, low: 0.5 }),
              ] as const;
              const x = await laidOut(data[0], layoutX, dtype, device());
              const y = await laidOut(data[1], layoutY, dtype, device());
              const p = await upload(data[2], dtype, device());
              const meaning: Meaning = {
                kind: 'Sum',
                axis: 'j',
                variables: [
                  { data: data[0], side: 'i' },
                  { data: data[1], side: 'j' },
                  { data: data[2], side: 'parameter' },
                ],
                formula: (x, y, p) => x.sqdist(y).mul(p),
              };
              const reduction = lazyReduction(meaning, [x, y, p]) as LazyReduction<'Sum'>;
              const wanted = reference(meaning, dtype);
              const shape = [...wanted.batch, m, 1];
              // An output with strides of its own, which is written through another.
              const out = isOut
                ? empty([...wanted.batch, 1, m], { dtype, device: device() }).transpose()
                : undefined;
              const found = await reduction.call([], { out });
              if (out !== undefined) expect(found).toBe(out);
              expect(found.shape).toEqual(shape);
              await expectResult({ value: found }, wanted);
              for (const key of [layoutX, layoutY, dtype, isOut ? 'out' : 'new']) count(key);
              count(m === 0 || n === 0 ? 'empty' : 'rows');
            },
          ),
          { numRuns: 60, seed: 7 },
        );
        const wanted = [...LAYOUTS, 'float32', 'float64', 'out', 'new', 'empty', 'rows'];
        for (const key of wanted) expect(seen.get(key) ?? 0, key).toBeGreaterThan(0);
      },
    );

    it('reads a broadcast batch where it lies, without a copy', async () => {
      const x = await upload(numbers(1, 500, 3, { batch: [4] }), 'float32', device());
      const y = await upload(numbers(2, 600, 3), 'float32', device());
      const shared = y.broadcastTo([4, 600, 3]);
      const call = await lazyI(x).sqdist(lazyJ(shared)).reduction('Sum', 'j').prepare();
      let out: Tensor | undefined;
      const kept = await memoryKept(device(), async () => {
        out = call([]);
        await device().synchronize();
      });
      expect(kept).toEqual({ forgotten: out?.bytes });
      expect(out?.storage.bytes).toBe(out?.bytes);
    });

    it('takes float16 and bfloat16 beside float32, and computes in float32', async () => {
      const data = [numbers(1, 6, 2, { batch: [2] }), numbers(2, 9, 2), numbers(3, 9, 1)] as const;
      const [x, y, b] = await Promise.all(data.map((one) => upload(one, 'float32', device())));
      const half = [await x!.cast('float16'), await y!.cast('bfloat16')] as const;
      const stored = await Promise.all(half.map((one) => one.toTypedArray()));
      const rounded = stored.map((values, at) => ({
        ...data[at as 0 | 1],
        values: Float64Array.from(values),
      }));
      const distance = lazyI(half[0]).sqdist(lazyJ(half[1])).mul(lazyJ(b!));
      expect(distance.dtype).toBe('float32');
      const reduction = distance.reduction('Sum', 'j');
      const wanted = reference(
        {
          kind: 'Sum',
          axis: 'j',
          variables: [
            { data: rounded[0]!, side: 'i' },
            { data: rounded[1]!, side: 'j' },
            { data: data[2], side: 'j' },
          ],
          formula: (x, y, b) => x.sqdist(y).mul(b),
        },
        'float32',
      );
      const found = await reduction.call();
      expect(found.dtype).toBe('float32');
      await expectResult({ value: found }, wanted);
      // Turned, it is copied first, still in 16 bits.
      const turned = await half[0].transpose().contiguous();
      const again = await lazyI(turned.transpose()).sqdist(lazyJ(half[1])).mul(lazyJ(b!)).sum('j');
      expect(await again.toNested()).toEqual(await found.toNested());
      const later = lazyI({ position: 0, dim: 2 }).sum().reduction('Sum', 'j');
      const call = await later.prepare([half[0]]);
      expect(call([half[0]]).dtype).toBe('float32');
      expect(() => call([x!])).toThrow(/was prepared as float16/);
    });

    it('tells i, j and parameter by the shape of three axes', async () => {
      const place = { device: device() };
      const x = await tensor([[[[1]], [[2]]]], place); // [1, 2, 1, 1]
      const y = await tensor([[[[3], [4], [5]]]], place); // [1, 1, 3, 1]
      const p = await tensor([[[10]]], place);
      const whole = lazy(x).add(lazy(y)).mul(lazy(p));
      expect(whole.shape).toEqual([1, 2, 3, 1]);
      const sums = await whole.sum('j');
      expect(await sums.toNested()).toEqual([[[150], [180]]]);
      expect(lazy(y.reshape([3, 1]), 'i').rowsI).toBe(3);
    });

    it('takes nested and typed arrays, numbers and strided data, in the dtype of the tensors', async () => {
      const x = await tensor([[1], [2]], { device: device(), dtype: 'float64' });
      const nested = lazyI(x)
        .mul(lazyJ([[3], [4]]))
        .mul(param(2))
        .mul(param([5]));
      const sums = await nested.sum('j');
      expect(sums.dtype).toBe('float64');
      expect(await sums.toNested()).toEqual([[70], [140]]);
      const data = { data: new Float64Array([3, 9, 4, 9]), shape: [2, 1], strides: [2, 1] };
      expect(await (await lazyI(x).mul(lazyJ(data)).sum('j')).toNested()).toEqual([[7], [14]]);
      const alone = await lazyI([[1, 2]])
        .sum()
        .sum('j', { device: device(), dtype: 'float64' });
      expect([alone.dtype, await alone.toNested()]).toEqual(['float64', [[3]]]);
    });
  });
}
