import { REDUCTION_KINDS, traitsOf } from '@mercer/formula';
import { device, tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import {
  genred,
  gradient,
  jointReduction,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rangesFromMatrix,
  rowNumberI,
  rowNumberJ,
  valueAndGradients,
} from './index.js';
import { byName } from './reductions-suite.test-support.js';

const hasNvrtc = nvrtcFound();

/**
 * A GPU that compiles and accepts launches, but computes nothing: whether every kernel of a call gets the arguments that it
 * declares. What the kernels compute is the matter of their own tests and of the GPU tests.
 */
describe.skipIf(!hasNvrtc)(
  'symbolic matrices behind the fake driver (skipped only without NVRTC)',
  () => {
    let gpu: Device;

    beforeAll(async () => {
      await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 31 });
      gpu = device('cuda:0');
    });

    it('launches every reduction, split and whole, and keeps no memory', async () => {
      const kept = await memoryKept(gpu, async () => {
        for (const [at, kind] of REDUCTION_KINDS.entries()) {
          // Few rows of many terms are split; many rows are not.
          for (const [m, n] of at % 4 === 0 ? ([[3, 5000]] as const) : ([[3000, 20]] as const)) {
            const x = await zeros([2, m, 2], { device: gpu });
            const y = await zeros([n, 2], { device: gpu });
            const distance = lazyI(x).sub(lazyJ(y));
            const isScalar = /Exp|SoftMax/.test(kind);
            const of = (isScalar ? distance.sum() : distance).reduction(kind, 'j', {
              ...((kind === 'SumSoftMaxWeight' || kind === 'MaxSumShiftExp') && {
                weight: lazyJ(y),
              }),
              ...(traitsOf(kind).takesK && { k: 3 }),
            });
            const lines: string[] = [];
            const found = byName(await of.call([], { debug: (line) => lines.push(line) }));
            const first = found.value ?? found.index;
            expect(first?.shape).toEqual([2, m, of.dim]);
            expect(lines.filter((line) => line.startsWith('launch')).length).toBeGreaterThan(0);
            for (const one of [x, y, found.value, found.index]) one?.dispose();
          }
        }
        await gpu.synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('prepares, copies what one stride cannot read, makes dense matrices and gradients', async () => {
      const kept = await memoryKept(gpu, async () => {
        const made = [
          await zeros([3, 1, 8, 2], { device: gpu }),
          await zeros([4, 9, 2], { device: gpu }),
          await tensor([1], { device: gpu }),
          await zeros([3, 4, 8, 1], { device: gpu }),
        ] as const;
        const [x, y, p, seed] = made;
        const a = lazyI(x);
        const of = a.sqdist(lazyJ(y)).mul(param(p));
        const results = [
          await of.sum('j'),
          await of.toDense(),
          await of.var('j'),
          await gradient(of.reduction('LogSumExp', 'j'), a, seed),
          await gradient(of.reduction('Min', 'j'), a, seed),
        ];
        expect(results.map(({ shape }) => shape)).toEqual([
          ...[[3, 4, 8, 1], [3, 4, 8, 9, 1], [3, 4, 8, 1], x.shape, x.shape],
        ]);
        const first = x.slice(0, 0);
        const call = await lazyI(first).sqdist(lazyJ(y)).reduction('ArgMin', 'j').prepare();
        results.push(call([]) as never);
        for (const one of [...made, ...results, first]) one.dispose();
        await gpu.synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('launches stored matrices as they lie, their copies, and gradients by them', async () => {
      const kept = await memoryKept(gpu, async () => {
        const made = [
          await zeros([2, 30, 50], { device: gpu }),
          await zeros([2, 1, 30, 50, 3], { device: gpu }),
          await zeros([4, 50, 3], { device: gpu }),
          await zeros([2, 4, 30, 3], { device: gpu }),
          await zeros([50, 64], { device: gpu }),
        ] as const;
        const [m, wide, y, seed, long] = made;
        const turned = m.permute([0, 2, 1]);
        const b = lazyJ(y);
        const of = lazyPair(wide, { components: true }).mul(b).reduction('Sum', 'j');
        const ranges = rangesFromMatrix([[0, 30]], [[2, 50]], [[1]]);
        const lines: string[] = [];
        const results = [
          await lazyPair(m).sum('j'),
          await lazyPair(turned).sum('i', { debug: (line) => lines.push(line) }),
          (await of.call([])) as Tensor,
          await gradient(of, lazyPair(wide, { components: true }), seed),
          await gradient(of, lazyPair(wide, { components: true }), seed, { ranges }),
          await lazyPair(m).mul(lazyJ(long)).sum('j'),
        ];
        expect(results.map(({ shape }) => shape)).toEqual([
          ...[[2, 30, 1], [2, 30, 1], [2, 4, 30, 3], wide.shape, wide.shape, [2, 30, 64]],
        ]);
        // no copy of a transposed matrix
        expect(lines.filter((line) => line.startsWith('launch')).length).toBe(1);
        const views = [m.slice(0), y.slice(0), m.slice(1), y.slice(2)] as const;
        const [first, rows, second, others] = views;
        const product = genred('m * b', ['m = Vij(1)', 'b = Vj(3)'], { axis: 1 });
        const call = await product.prepare(first, rows);
        results.push(call([second, others]));
        for (const one of [...made, ...results, ...views, turned]) one.dispose();
        await gpu.synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('launches several reductions, gradients with values, rows by index and kept ranges', async () => {
      const kept = await memoryKept(gpu, async () => {
        const place = { device: gpu };
        const [x, y] = [await zeros([3, 40, 2], place), await zeros([50, 2], place)];
        const table = await zeros([7, 1], { ...place, dtype: 'float16' });
        const [a, b] = [lazyI(x), lazyJ(y)];
        const distance = a.sqdist(b);
        const ranges = rangesFromMatrix([[0, 40]], [[10, 30]], [[1]]);
        const parts = {
          sum: distance.mul(a.elem(0).gather(table)).reduction('Sum', 'j'),
          near: distance.reduction('KMinArgKMin', 'j', { k: 3 }),
        };
        const joint = jointReduction(parts);
        const whole = await joint.call([], { indexDtype: 'int64' });
        expect(whole.near.indices.dtype).toBe('int64');
        const prepared = await joint.prepare([], { ranges, indexDtype: 'int64' });
        expect(prepared.plans).toHaveLength(1);
        const sparse = prepared([]);
        expect(sparse.near.indices.dtype).toBe('int64');
        expect(sparse.sum.shape).toEqual([3, 40, 1]);
        const out = { gradients: { a: await zeros([3, 40, 2], place) } };
        const both = await valueAndGradients(distance.reduction('Sum', 'j'), { a, b }, { out });
        expect([both.gradients.a, both.gradients.b.shape]).toEqual([out.gradients.a, y.shape]);
        const longTable = await zeros([7, 150], place);
        const far = distance.mul(b.elem(0).gather(longTable).sqnorm2());
        const long = await far.sum('j', { accumulate: 'float64', ranges });
        const columns = await a.elem(0).gather(longTable).mean('j', { sumScheme: 'kahan' });
        expect([long.shape, columns.shape]).toEqual([
          [3, 40, 1],
          [3, 40, 150],
        ]);
        for (const one of [longTable, long, columns]) one.dispose();
        prepared.dispose();
        for (const one of [whole, sparse]) {
          for (const result of [one.sum, one.near.values, one.near.indices]) result.dispose();
        }
        for (const one of [x, y, table, both.value, both.gradients.a, both.gradients.b])
          one.dispose();
        await gpu.synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('launches gradients by tables: of one side, of pairs and beside the rows themselves', async () => {
      const kept = await memoryKept(gpu, async () => {
        const place = { device: gpu };
        const [x, y] = [await zeros([2, 40, 2], place), await zeros([50, 2], place)];
        const table = await zeros([2, 7, 2], { ...place, dtype: 'bfloat16' });
        const [a, b, t] = [lazyI(x), lazyJ(y), lazyI(table)];
        const rows = a.elem(0).gather(t).add(b.elem(1).gather(t));
        const pairs = rowNumberI().sub(rowNumberJ()).gather(a);
        const of = a.sqdist(b).mul(rows).add(pairs).reduction('Mean', 'j');
        const { value, gradients } = await valueAndGradients(of, { a, b, t });
        const alone = await gradient(of, t, value);
        expect([gradients.a.shape, gradients.t.shape, alone.shape]).toEqual([
          ...[x.shape, table.shape, table.shape],
        ]);
        for (const one of [x, y, table, value, gradients.a, gradients.b, gradients.t, alone]) {
          one.dispose();
        }
        await gpu.synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('refuses variables on two devices, naming both', async () => {
      const here = lazyI(await zeros([2, 1], { device: gpu }), { name: 'x' });
      const there = lazyJ(await zeros([2, 1], { device: 'cpu' }), { name: 'y' });
      expect(() => here.sub(there)).toThrow(
        /x \(i-variable.*cuda:0\) and y \(j-variable.*cpu\) are on different devices/,
      );
    });
  },
);
