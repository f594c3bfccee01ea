import { checkGradients, grad, valueAndGrad, type CheckGradientsOptions } from '@mercer/autodiff';
import { random, tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { sizeOfShape } from '@mercer/tensor/operation';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { functional, initialisers, layers } from '../index.js';
import type { Layer } from '../layers/layer.js';
import { LAYER_CASES } from './layer-cases.test-support.js';
import {
  differences,
  drawn,
  expectClose,
  placed,
  plain,
  toPlain,
  type Plain,
} from './references.test-support.js';

const TOLERANCE = { float64: [1e-12, 1e-8], float32: [2e-5, 2e-4] } as const;

/** `checkGradients` throws where a derivative is wrong. */
const passes = async <A extends readonly unknown[]>(
  f: (...args: A) => unknown,
  args: A,
  options: CheckGradientsOptions,
): Promise<void> => {
  await expect(checkGradients(f, args, options)).resolves.toBeUndefined();
};

/** Layers against plain loops in float64, and their gradients against differences of these. */
export function layersSuite(name: string, place: () => Device): void {
  describe(`layers on ${name}`, () => {
    let device: Device;
    beforeAll(() => {
      device = place();
    });

    describe.each(LAYER_CASES.map((one) => [one.name, one] as const))('%s', (_, one) => {
      const { shapes, run, reference } = one;
      it.each(['float64', 'float32'] as const)('values and gradients in %s', async (dtype) => {
        const names = Object.keys(shapes);
        const arrays: Record<string, Plain> = {};
        const tensors: Record<string, Tensor> = {};
        for (const [k, one] of names.entries()) {
          arrays[one] = await drawn(k + 1, shapes[one] ?? []);
          tensors[one] = await placed(arrays[one], dtype, device);
        }
        const [ofValue, ofGradient] = TOLERANCE[dtype];
        const wanted = reference(arrays);
        expectClose(await toPlain(await run(tensors)), wanted, ofValue, 'the value');

        const by = await drawn(99, wanted.shape);
        const weights = await placed(by, dtype, device);
        const gradients = await grad((t: Record<string, Tensor>) => run(t).mul(weights).sum())(
          tensors,
        );
        const loss = (all: Readonly<Record<string, Plain>>): number =>
          reference(all).data.reduce((sum, one, k) => sum + one * (by.data[k] ?? 0), 0);
        for (const one of names) {
          const own = gradients[one] as Tensor;
          expect(own.dtype).toBe(dtype);
          expectClose(await toPlain(own), differences(loss, arrays, one), ofGradient, one);
        }
      });
    });

    it('has derivatives of the second order', async () => {
      const where = { device, dtype: 'float64' } as const;
      const key = random.key(3);
      const shapes = [[1, 1, 3, 3], [1, 1, 2, 2], [1, 2, 2], [2]] as const;
      const [image, kernel, rows, vector] = await Promise.all(
        shapes.map(async (shape, k) => random.normal(shape, { key: random.key(k), ...where })),
      );
      const options = { key, order: 2, directions: 1 } as const;
      await passes(
        async (x: Tensor, w: Tensor) => functional.conv2d(x, w, undefined, { padding: 1 }),
        [image, kernel] as never,
        options,
      );
      await passes(
        async (x: Tensor) => functional.attention(x, x, x, { causal: true }),
        [rows] as never,
        options,
      );
      const norm = layers.layerNorm({ shape: 2 });
      await passes(
        async (x: Tensor, w: Tensor) => norm.apply({ weight: w, bias: w }, x),
        [rows, vector] as never,
        options,
      );
    });

    it.each([
      ['of padding', [2, 1, 1, 4]],
      ['of pairs', [2, 1, 3, 4]],
      ['of pairs for all', [3, 4]],
    ] as const)('attends to the keys that a mask shows: %s', async (_, shape) => {
      const dtype = 'float64';
      const [q, k, v] = await Promise.all(
        [[2, 2, 3, 2], [2, 2, 4, 2], [2, 2, 4, 3]].map(async (one, at) => placed(await drawn(at, one), dtype, device)), // prettier-ignore
      ) as [Tensor, Tensor, Tensor]; // prettier-ignore
      const size = sizeOfShape(shape);
      const shown = Uint8Array.from({ length: size }, (_one, i) => ((i * 7) % 5 < 3 ? 1 : 0));
      const mask = (await tensor(shown, { shape: [...shape], device }).cast('bool')) as Tensor;
      const added = await mask.where(0, -Infinity).cast(dtype);
      const run = (m: Tensor) => (x: Tensor) => functional.attention(x, k, v, { mask: m });
      const masked = await toPlain(await run(mask)(q));
      expectClose(masked, await toPlain(await run(added)(q)), 1e-14);
      // dense, by definition
      const scores = q.matmul(k.permute([0, 1, 3, 2]) as never).mul(Math.SQRT1_2);
      const dense = mask
        .where(scores, -Infinity)
        .softmax(-1)
        .matmul(v as never);
      expectClose(masked, await toPlain((await dense) as Tensor), 1e-14);
      expect(masked.data.every(Number.isFinite)).toBe(true);
      const slopes = await grad((x: Tensor) => run(mask)(x).square().sum())(q);
      const ofDense = await grad((x: Tensor) => run(added)(x).square().sum())(q);
      expectClose(await toPlain(slopes), await toPlain(ofDense), 1e-12);
    });

    it('gives NaN to a query that sees no key', async () => {
      const x = await tensor([[1, 2], [3, 4]], { device }); // prettier-ignore
      const mask = await tensor(Uint8Array.of(1, 1, 0, 0), { shape: [2, 2], device }).cast('bool');
      const seen = await functional.attention(x, x, x, { mask }).toNested<number[][]>();
      expect(seen[0]?.every(Number.isFinite)).toBe(true);
      expect(seen[1]).toEqual([NaN, NaN]);
    });

    it('hides padding from all heads, also behind sequential and in gradients', async () => {
      const where = { device, dtype: 'float64' } as const;
      const attention = layers.multiHeadAttention({ features: 4, heads: 2 });
      const model = layers.sequential({ attention });
      const params = await model.init(random.key(1), where);
      const whole = await random.normal([2, 5, 4], { key: random.key(2), ...where });
      // the last two rows of each are padding
      const mask = await tensor(Uint8Array.of(1, 1, 1, 0, 0), { shape: [1, 5], device }).cast(
        'bool',
      );
      const short = whole.slice(null, [0, 3]) as Tensor;
      const wanted = await toPlain(await model.apply(params, short));
      const found = model.apply(params, whole, { mask }).slice(null, [0, 3]);
      expectClose(await toPlain((await found) as Tensor), wanted, 1e-13);
      const loss = (x: Tensor, own: Tensor | undefined) => (p: typeof params) =>
        model.apply(p, x, { mask: own }).slice(null, [0, 3]).square().sum();
      const [a, b] = [
        await grad(loss(whole, mask))(params),
        await grad(loss(short, undefined))(params),
      ];
      expectClose(
        await toPlain(a.attention.inProjWeight),
        await toPlain(b.attention.inProjWeight),
        1e-12,
      );
    });

    it('takes rows of an embedding, and adds gradients up where they were taken', async () => {
      const where = { device } as const;
      const layer = layers.embedding({ entries: 4, features: 2 });
      const params = await layer.init(random.key(1), where);
      const indices = await tensor(Int32Array.of(3, 0, 3, 9, -1, 1), { shape: [3, 2], device });
      const weight = await toPlain(params.weight);
      const row = (k: number): number[] => [...weight.data.slice(2 * k, 2 * k + 2)];
      const y = await layer.apply(params, indices);
      expect(y.shape).toEqual([3, 2, 2]);
      expect((await toPlain(y)).data).toEqual(
        Float64Array.of(...row(3), ...row(0), ...row(3), NaN, NaN, NaN, NaN, ...row(1)),
      );
      // a number without a row adds to none
      const known = await tensor(Int32Array.of(3, 0, -1, 3), { device });
      const gradient = await grad((p: typeof params) => layer.apply(p, known).sum())(params);
      expect(await gradient.weight.toNested()).toEqual([
        [1, 1],
        [0, 0],
        [0, 0],
        [2, 2],
      ]);
    });

    it('drops the same elements for the same key, as many as it should', async () => {
      const layer = layers.dropout({ rate: 0.25 });
      const x = await tensor(new Float32Array(4000).fill(3), { device });
      const [one, same, other] = await Promise.all(
        [7, 7, 8].map(async (seed) =>
          toPlain(await layer.apply({}, x, { training: true, key: random.key(seed) })),
        ),
      );
      expect(one).toEqual(same);
      expect(one).not.toEqual(other);
      const kept = (one?.data ?? []).filter((value) => value === 4);
      expect(kept.length + (one?.data ?? []).filter((value) => value === 0).length).toBe(4000);
      // five deviations of a binomial number
      expect(Math.abs(kept.length - 3000)).toBeLessThan(137);
      expect(await layer.apply({}, x)).toBe(x);
      const gradient = await grad((v: Tensor) =>
        layer.apply({}, v, { training: true, key: random.key(7) }).sum(),
      )(x as Tensor);
      const slopes = (one?.data ?? new Float64Array()).map((value) => value / 3);
      expectClose(await toPlain(gradient), { shape: [4000], data: slopes }, 1e-6);
      const none = layers.dropout({ rate: 1 });
      expect(
        await none
          .apply({}, x, { training: true, key: random.key(1) })
          .sum()
          .item(),
      ).toBe(0);
    });

    it('gives empty batches back, with gradients of zeros', async () => {
      const where = { device, dtype: 'float32' } as const;
      const model = layers.sequential({
        conv: layers.conv2d({ inputs: 2, outputs: 3, kernel: 3, padding: 1 }),
        relu: layers.relu(),
        pool: layers.maxPool2d({ kernel: 2 }),
        flatten: layers.flatten(),
        norm: layers.layerNorm({ shape: 12 }),
        linear: layers.linear({ inputs: 12, outputs: 5 }),
      });
      const params = await model.init(random.key(1), where);
      const x = await zeros([0, 2, 4, 4], where);
      expect((await model.apply(params, x)).shape).toEqual([0, 5]);
      const gradient = await grad((p: typeof params) => model.apply(p, x).sum())(params);
      expect((await toPlain(gradient.conv.weight)).data.every((one) => one === 0)).toBe(true);
      const attention = layers.multiHeadAttention({ features: 4, heads: 2 });
      const own = await attention.init(random.key(1), where);
      const none = await attention.apply(own, await zeros([0, 3, 4], where));
      expect(none.shape).toEqual([0, 3, 4]);
    });

    it('keeps running statistics that follow batches, and leaves the former as they were', async () => {
      const where = { device, dtype: 'float64' } as const;
      const norm = layers.batchNorm({ features: 2, momentum: 0.25 });
      const model = layers.sequential({ norm, linear: layers.linear({ inputs: 2, outputs: 1 }) });
      const params = await model.init(random.key(1), where);
      const before = await model.initState(where);
      const x = await tensor([[1, 2], [3, 10], [5, 3]], where); // prettier-ignore
      const step = layers.withState(model);
      const { output, state } = await step(params, x, { state: before });
      expect(output.shape).toEqual([3, 1]);
      const { norm: own } = state;
      // 0.75 times 0 and 1, 0.25 times means and variances, these with one taken off
      expectClose(
        await toPlain(own.runningMean),
        plain([2], ([c]) => [0.75, 1.25][c ?? 0] ?? 0),
        1e-14,
      );
      expectClose(
        await toPlain(own.runningVar),
        plain([2], ([c]) => [1.75, 5.5][c ?? 0] ?? 0),
        1e-14,
      );
      const { norm: first } = before;
      expect(await first.runningVar.toNested()).toEqual([1, 1]);
      // what is constant in a gradient that hands the state on
      const { grad: gradient, aux } = await valueAndGrad(
        async (p: typeof params) => {
          const next = await step(p, x, { state: before });
          return [next.output.square().sum(), next.state] as const;
        },
        { hasAux: true },
      )(params);
      expect(gradient.linear.weight.shape).toEqual([1, 2]);
      const { norm: again } = aux;
      expect(await again.runningMean.toNested()).toEqual(await own.runningMean.toNested());
      // by running statistics one example does not depend on others
      const all = await toPlain(await model.apply(params, x, { state }));
      const alone = await toPlain(await model.apply(params, x.slice([1, 2]), { state }));
      expect(alone.data[0]).toBeCloseTo(all.data[1] ?? NaN, 12);
    });

    it('multi-head attention outside a gradient keeps no memory of what it computes between', async () => {
      const where = { device, dtype: 'float64' } as const;
      const layer = layers.multiHeadAttention({ features: 4, heads: 2 });
      const params = await layer.init(random.key(1), where);
      const x = await placed(await drawn(2, [2, 3, 4]), 'float64', device);
      const apply = async (): Promise<void> => {
        (await layer.apply(params, x)).dispose();
      };
      expect(await memoryKept(device, apply)).toEqual(NOTHING);
    });

    describe('behind an elementwise result of constants, inside a gradient', () => {
      it.each([
        ['linear', [7, 4], () => layers.linear({ inputs: 4, outputs: 2 })],
        ['conv1d', [2, 4, 9], () => layers.conv1d({ inputs: 4, outputs: 3, kernel: 3 })],
        ['conv2d', [2, 3, 6, 5], () => layers.conv2d({ inputs: 3, outputs: 2, kernel: 2 })],
        ['layerNorm', [3, 4], () => layers.layerNorm({ shape: [4] })],
      ] as const)(
        '%s has the gradient that it has behind a tensor, and keeps no memory',
        async (_, shape, layerOf) => {
          const layer = layerOf() as Layer<Readonly<Record<string, Tensor>>>;
          const params = await layer.init(random.key(1), { device, dtype: 'float64' });
          const x = await placed(await drawn(2, shape), 'float64', device);
          const there = await x.mul(2);
          const gradient = async (of: () => Tensor): Promise<Plain[]> => {
            const found = await grad((p: typeof params) => layer.apply(p, of()).square().mean())(
              params,
            );
            const all = await Promise.all(Object.values(found).map(toPlain));
            for (const one of Object.values(found)) one.dispose();
            return all;
          };
          const wanted = await gradient(() => there);
          expect(await gradient(() => x.mul(2) as unknown as Tensor)).toEqual(wanted);
          expect(
            await memoryKept(device, async () => {
              await gradient(() => there);
            }),
          ).toEqual(NOTHING);
        },
      );
    });

    it('begins with numbers of the right spread, the same on every device', async () => {
      const shape = [40, 50, 3];
      const deviationOf = async (init: initialisers.Initialiser): Promise<number> => {
        const x = await init(random.key(5), shape, { device, dtype: 'float64' });
        expect(x.shape).toEqual(shape);
        return x.std().item();
      };
      const near = (given: number, wanted: number): void => {
        expect(Math.abs(given / wanted - 1)).toBeLessThan(0.05);
      };
      near(await deviationOf(initialisers.kaimingUniform()), Math.sqrt(2 / 150));
      near(await deviationOf(initialisers.kaimingNormal({ mode: 'fanOut' })), Math.sqrt(2 / 120));
      near(await deviationOf(initialisers.xavierUniform({ gain: 3 })), 3 * Math.sqrt(2 / 270));
      near(await deviationOf(initialisers.xavierNormal()), Math.sqrt(2 / 270));
      // the deviation of a normal distribution that is cut at 2
      near(await deviationOf(initialisers.truncatedNormal({ deviation: 0.5 })), 0.5 * 0.8796);
      const cut = await initialisers.truncatedNormal({ mean: 1, deviation: 0.5, limit: 1.5 })(
        random.key(1),
        [5000],
        { device },
      );
      const most = await cut.sub(1).abs().max().item();
      expect(most > 0.74 && most <= 0.75).toBe(true);
      const linear = layers.linear({ inputs: 100, outputs: 200 });
      const params = await linear.init(random.key(1), { device, dtype: 'float64' });
      near(await params.weight.std().item(), 0.1 / Math.sqrt(3));
      const again = await linear.init(random.key(1), { device: 'cpu', dtype: 'float64' });
      expect(await toPlain(params.weight)).toEqual(await toPlain(again.weight));
      const zero = layers.linear({
        inputs: 2,
        outputs: 1,
        weightInit: initialisers.constant(3),
        biasInit: initialisers.zeros(),
      });
      const own = await zero.init(random.key(1), { device, dtype: 'bfloat16' });
      expect(own.weight.dtype).toBe('bfloat16');
      expect(await own.weight.toNested()).toEqual([[3, 3]]);
    });
  });
}
