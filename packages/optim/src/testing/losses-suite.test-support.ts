import { checkGradients, grad, jvp, vmap } from '@mercer/autodiff';
import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';
import { beforeAll, describe, expect, it } from 'vitest';
import { losses } from '../index.js';
import {
  at,
  differences,
  drawn,
  expectClose,
  placed,
  plain,
  sumOf,
  toPlain,
  type Plain,
} from './references.test-support.js';

type Reference = (p: Plain, t: Plain) => Plain;
type Reduced = Parameters<typeof losses.mse>[2];

const elementwise =
  (f: (p: number, t: number) => number): Reference =>
  (p, t) =>
    plain(p.shape, (index) => f(at(p, ...index), at(t, ...index)));

/** Losses of a prediction and a target of its shape. */
const PAIRS: readonly (readonly [
  name: string,
  run: (p: Value, t: Value, options?: Reduced) => Value,
  reference: Reference,
])[] = [
  ['mse', losses.mse, elementwise((p, t) => (p - t) ** 2)],
  ['l1', losses.l1, elementwise((p, t) => Math.abs(p - t))],
  [
    'huber',
    (p, t, options) => losses.huber(p, t, { ...options, delta: 0.7 }),
    elementwise((p, t) => {
      const e = Math.abs(p - t);
      return e <= 0.7 ? (e * e) / 2 : 0.7 * (e - 0.35);
    }),
  ],
  [
    'binaryCrossEntropyWithLogits',
    losses.binaryCrossEntropyWithLogits,
    elementwise((x, y) => {
      const p = 1 / (1 + Math.exp(-x));
      return -(y * Math.log(p) + (1 - y) * Math.log(1 - p));
    }),
  ],
];

const reductionOf = (all: Plain, reduction: 'mean' | 'sum' | 'none'): Plain => {
  if (reduction === 'none') return all;
  const sum = all.data.reduce((a, b) => a + b, 0);
  return { shape: [], data: Float64Array.of(reduction === 'mean' ? sum / all.data.length : sum) };
};

const CLASSES = 4;
const LABELS = [2, 0, 3, 3, 1, 2];

/** `-log softmax(x)[label]`, or with smoothing of all classes, of (3, classes, 2). */
const crossEntropyOf =
  (smoothing: number, weights: readonly number[] = [1, 1, 1, 1]): ((x: Plain) => Plain) =>
  (x) =>
    plain([3, 2], ([n = 0, k = 0]) => {
      const logit = (c: number): number => at(x, n, c, k);
      const total = Math.log(sumOf(CLASSES, (c) => Math.exp(logit(c))));
      const wanted = (c: number): number =>
        smoothing / CLASSES + (c === LABELS[2 * n + k] ? 1 - smoothing : 0);
      return sumOf(CLASSES, (c) => (weights[c] ?? NaN) * wanted(c) * (total - logit(c)));
    });

/** Losses against their definitions in float64, and gradients against differences of these. */
export function lossesSuite(name: string, place: () => Device): void {
  describe(`losses on ${name}`, () => {
    let device: Device;
    beforeAll(() => {
      device = place();
    });

    describe.each(PAIRS)('%s', (_, run, reference) => {
      it.each(['mean', 'sum', 'none'] as const)('%s, in both dtypes', async (reduction) => {
        const p = await drawn(1, [5, 3]);
        const t = await drawn(2, [5, 3]);
        const target = { shape: t.shape, data: t.data.map((one) => 1 / (1 + Math.exp(-one))) };
        const wanted = reductionOf(reference(p, target), reduction);
        const slopes = differences(
          ({ p: own }) =>
            reference(own as Plain, target).data.reduce((a, b) => a + b, 0) /
            (reduction === 'mean' ? 15 : 1),
          { p },
          'p',
        );
        for (const dtype of ['float64', 'float32'] as const) {
          const [x, y] = [await placed(p, dtype, device), await placed(target, dtype, device)];
          expectClose(
            await toPlain(await run(x, y, { reduction })),
            wanted,
            dtype === 'float64' ? 1e-13 : 1e-6,
          );
          const gradient = await grad((v: Tensor) => run(v, y, { reduction }).sum())(x);
          expectClose(await toPlain(gradient), slopes, dtype === 'float64' ? 1e-8 : 1e-5);
        }
      });
    });

    it.each([0, 0.2])('crossEntropy with labelSmoothing %f', async (labelSmoothing) => {
      const x = await drawn(3, [3, CLASSES, 2]);
      const reference = crossEntropyOf(labelSmoothing);
      const labels = await tensor(Int32Array.from(LABELS), { shape: [3, 2], device });
      for (const dtype of ['float64', 'float32'] as const) {
        const logits = await placed(x, dtype, device);
        const small = dtype === 'float64' ? 1e-13 : 1e-6;
        const all = losses.crossEntropy(logits, labels, { labelSmoothing, reduction: 'none' });
        expectClose(await toPlain(await all), reference(x), small);
        const last = logits.permute([0, 2, 1]);
        const mean = losses.crossEntropy(last, labels.cast('int64'), { labelSmoothing, axis: -1 });
        expectClose(await toPlain(await mean), reductionOf(reference(x), 'mean'), small);
        const gradient = await grad((v: Tensor) =>
          losses.crossEntropy(v, labels, { labelSmoothing, reduction: 'sum' }),
        )(logits);
        const slopes = differences(
          ({ v }) => reference(v as Plain).data.reduce((a, b) => a + b, 0),
          { v: x },
          'v',
        );
        expectClose(await toPlain(gradient), slopes, dtype === 'float64' ? 1e-8 : 1e-5);
      }
    });

    it.each([0, 0.2])(
      'crossEntropy with weights of the classes, and labelSmoothing %f',
      async (labelSmoothing) => {
        const x = await drawn(3, [3, CLASSES, 2]);
        const own = [0.5, 2, 0, 3];
        const reference = crossEntropyOf(labelSmoothing, own);
        const counts = [true, true, false, true, true, true]; // the label 3 of one counts, that of another not
        const labels = await tensor(
          Int32Array.from(LABELS, (one, k) => (counts[k] === true ? one : -100)),
          { shape: [3, 2], device },
        );
        const sum = (all: Plain): number =>
          sumOf(6, (k) => (counts[k] === true ? (all.data[k] ?? NaN) : 0));
        const total = sumOf(6, (k) => (counts[k] === true ? (own[LABELS[k] ?? 0] ?? NaN) : 0));
        for (const dtype of ['float64', 'float32'] as const) {
          const logits = await placed(x, dtype, device);
          const classWeights = (await tensor(own, { dtype, device })) as Tensor;
          const small = dtype === 'float64' ? 1e-13 : 1e-6;
          const run = (v: Tensor, w: Tensor, reduction: 'mean' | 'sum' | 'none') =>
            losses.crossEntropy(v, labels, {
              labelSmoothing,
              reduction,
              classWeights: w,
              ignoreIndex: -100,
            });
          const each = reference(x);
          const wanted = plain([3, 2], ([n = 0, k = 0]) =>
            counts[2 * n + k] === true ? at(each, n, k) : 0,
          );
          expectClose(await toPlain(await run(logits, classWeights, 'none')), wanted, small);
          const mean = await run(logits, classWeights, 'mean').item();
          expect(Math.abs(Number(mean) - sum(each) / total)).toBeLessThan(small);
          const slopes = differences(({ v }) => sum(reference(v as Plain)) / total, { v: x }, 'v');
          const gradient = await grad((v: Tensor) => run(v, classWeights, 'mean'))(logits);
          expectClose(await toPlain(gradient), slopes, dtype === 'float64' ? 1e-8 : 1e-5);
          if (labelSmoothing > 0) continue;
          const ofProbabilities = losses.nll(logits.softmax(1).log(), labels, {
            classWeights,
            ignoreIndex: -100,
          });
          expect(Math.abs(Number(await ofProbabilities.item()) - sum(each) / total)).toBeLessThan(
            small,
          );
        }
      },
    );

    it('crossEntropy leaves labels out that do not count, and keeps large logits finite', async () => {
      const logits = await tensor([[1e4, 0], [3, 3], [0, 0]], { device }); // prettier-ignore
      const labels = await tensor(Int32Array.of(0, 1, -100), { device });
      const value = losses.crossEntropy(logits, labels, { ignoreIndex: -100 });
      expect(await value.item()).toBeCloseTo(Math.log(2) / 2, 6);
      const each = losses.crossEntropy(logits, labels, { ignoreIndex: -100, reduction: 'none' });
      expect((await toPlain(await each)).data[2]).toBe(0);
      const gradient = await grad((v: Tensor) =>
        losses.crossEntropy(v, labels, { ignoreIndex: -100 }),
      )(logits as Tensor);
      expect((await gradient.toNested<number[][]>())[2]).toEqual([0, 0]);
      const wrong = await tensor(Int32Array.of(0, 1, 7), { device });
      expect(await losses.crossEntropy(logits, wrong).item()).toBeNaN();
    });

    it.each(['int32', 'int64'] as const)(
      'a label of %s without a class gives NaN for its example, and its gradient',
      async (dtype) => {
        const logits = await tensor([[1, 2], [3, 3], [0, 1], [2, 0]], { device, dtype: 'float64' }); // prettier-ignore
        const labels = (await tensor(Int32Array.of(0, -1, 2, 1), { device }).cast(dtype)) as Tensor;
        for (const labelSmoothing of [0, 0.1]) {
          const run = (v: Tensor, reduction: 'none' | 'sum') =>
            losses.crossEntropy(v, labels, { reduction, labelSmoothing });
          const each = (await toPlain(await run(logits as Tensor, 'none'))).data;
          expect([...each].map(Number.isNaN)).toEqual([false, true, true, false]);
          const slopes = await grad((v: Tensor) => run(v, 'sum'))(logits as Tensor);
          const isBad = (await slopes.toNested<number[][]>()).map((row) => row.map(Number.isNaN));
          expect(isBad).toEqual([[false, false], [true, true], [true, true], [false, false]]); // prettier-ignore
        }
        const half = await logits.cast('float16');
        const some = losses.nll(half, labels, { reduction: 'none', ignoreIndex: -1 });
        expect(Array.from((await toPlain(await some)).data, (x) => x + 0)).toEqual([-1, 0, NaN, 0]);
      },
    );

    it('nll of the logarithms of probabilities is the cross entropy', async () => {
      const logits = await placed(await drawn(4, [5, 3]), 'float64', device);
      const labels = await tensor(Int32Array.of(0, 2, 1, 1, 0), { device });
      const ofLogits = await losses.crossEntropy(logits, labels).item();
      const log = logits.softmax(1).log();
      expect(await losses.nll(log, labels).item()).toBeCloseTo(ofLogits as number, 13);
      // one example
      const one = losses.nll(log.slice(1), labels.slice(1));
      const nested = (await log.toNested()) as unknown as readonly (readonly number[])[];
      expect(await one.item()).toBeCloseTo(-(nested[1]?.[2] ?? NaN), 13);
    });

    describe.each([
      ['labelSmoothing', { labelSmoothing: 0.1 }],
      ['ignoreIndex', { ignoreIndex: -1 }],
      ['the classes along another axis', { axis: 0, labelSmoothing: 0.3, ignoreIndex: -1 }],
      ['nll', undefined],
    ] as const)('of classes, %s', (_, options) => {
      const run = (v: Tensor, labels: Tensor): Value =>
        options === undefined
          ? losses.nll(v, labels)
          : losses.crossEntropy(v, labels, { ...options, reduction: 'sum' });
      const given = async (): Promise<readonly [Tensor, Tensor]> => [
        await placed(await drawn(4, [3, 3]), 'float64', device),
        await tensor(Int32Array.of(0, options && 'ignoreIndex' in options ? -1 : 1, 2), { device }),
      ];

      it('have derivatives of the second order, backwards and forwards', async () => {
        const [scores, labels] = await given();
        const checked = checkGradients((v: Tensor) => run(v, labels), [scores], {
          key: random.key(1),
          order: 2,
          directions: 2,
        });
        await expect(checked).resolves.toBeUndefined();
        const pushed = jvp((v: Tensor) => run(v, labels));
        const { tangent } = await pushed([scores], [scores]);
        const slopes = await grad((v: Tensor) => run(v, labels))(scores);
        const along = await slopes.mul(scores).sum().item();
        expect(await tangent.item()).toBeCloseTo(Number(along), 12);
      });

      it('are mapped over batches, with and without labels of each', async () => {
        const [scores, labels] = await given();
        const times = await tensor([[[1]], [[2]], [[3]]], { device, dtype: 'float64' });
        const batch = (await scores.mul(times)) as Tensor;
        const others = await tensor(Int32Array.of(2, 1, 0, 1, 1, 2, 0, 0, 0), {
          shape: [3, 3],
          device,
        });
        const slopes = grad((v: Tensor, y: Tensor) => run(v, y));
        const each = await vmap(slopes)(batch, others);
        const shared = await vmap(slopes, { inAxes: [0, null] })(batch, labels);
        for (let k = 0; k < 3; k++) {
          const alone = await slopes(batch.slice(k), others.slice(k));
          expectClose(await toPlain(each.slice(k)), await toPlain(alone), 1e-13);
          const alike = await slopes(batch.slice(k), labels);
          expectClose(await toPlain(shared.slice(k)), await toPlain(alike), 1e-13);
        }
      });
    });

    it('of nothing is NaN as a mean and 0 as a sum', async () => {
      const x = await tensor(new Float32Array(0), { shape: [0, 3], device });
      const labels = await tensor(new Int32Array(0), { device });
      expect(await losses.crossEntropy(x, labels).item()).toBeNaN();
      expect(await losses.crossEntropy(x, labels, { reduction: 'sum' }).item()).toBe(0);
      expect(await losses.mse(x, x, { reduction: 'sum' }).item()).toBe(0);
    });
  });
}
