import { grad, prepare, valueAndGrad, type Tree } from '@mercer/autodiff';
import { full, memory, random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { leavesOf, replaced } from '@mercer/autodiff/transform';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  functional,
  layers,
  losses,
  perSampleGradients,
  withStatistics,
  type PerSampleOptions,
} from '../index.js';
import { drawn, expectClose, placed, toPlain, type Plain } from './references.test-support.js';

interface Problem {
  readonly params: Tree;
  readonly inputs: Tensor;
  readonly targets: Tensor;
  readonly loss: (params: never, inputs: Tensor, targets: Tensor) => PromiseLike<Tensor> | Tensor;
}

type Made = (device: Device) => Promise<Problem>;

const N = 5;
const F64 = 'float64' as const;

async function classified<P extends Tree>(
  model: layers.Layer<P>,
  inputs: Tensor,
  device: Device,
  apply: (params: P, x: Tensor) => PromiseLike<Tensor> | Tensor = (params, x) =>
    model.apply(params, x),
): Promise<Problem> {
  const params = await model.init(random.key(1), { device, dtype: F64 });
  const targets = await tensor(
    Int32Array.from({ length: N }, (_, k) => k % 3),
    { device },
  );
  const loss = async (own: P, x: Tensor, labels: Tensor): Promise<Tensor> =>
    losses.crossEntropy(await apply(own, x), labels);
  return { params, inputs, targets, loss };
}

/** Networks by which of the rules of layers are used. */
const PROBLEMS: readonly (readonly [name: string, make: Made])[] = [
  [
    'a perceptron',
    async (device) => {
      const model = layers.sequential({
        first: layers.linear({ inputs: 4, outputs: 6 }),
        act: layers.tanh(),
        norm: layers.layerNorm({ shape: 6 }),
        second: layers.linear({ inputs: 6, outputs: 3 }),
      });
      return classified(model, await placed(await drawn(2, [N, 4]), F64, device), device);
    },
  ],
  [
    'a convolutional network',
    async (device) => {
      const model = layers.sequential({
        first: layers.conv2d({
          inputs: 2,
          outputs: 4,
          kernel: 3,
          stride: 2,
          padding: 1,
          groups: 2,
        }),
        act: layers.gelu(),
        second: layers.conv2d({ inputs: 4, outputs: 2, kernel: 2, dilation: 2 }),
        pool: layers.averagePool2d({ kernel: 2, stride: 1 }),
        flatten: layers.flatten(),
        last: layers.linear({ inputs: 2, outputs: 3, bias: false }),
      });
      return classified(model, await placed(await drawn(2, [N, 2, 8, 8]), F64, device), device);
    },
  ],
  [
    'a convolution over a length',
    async (device) => {
      const model = layers.sequential({
        first: layers.conv1d({ inputs: 2, outputs: 3, kernel: 3 }),
        flatten: layers.flatten(),
        last: layers.linear({ inputs: 12, outputs: 3 }),
      });
      return classified(model, await placed(await drawn(2, [N, 2, 6]), F64, device), device);
    },
  ],
  [
    'a transformer whose embedding is used twice',
    async (device) => {
      const blocks = layers.sequential({
        attention: layers.multiHeadAttention({ features: 4, heads: 2, causal: true }),
        norm: layers.layerNorm({ shape: 4 }),
        hidden: layers.linear({ inputs: 4, outputs: 3 }),
      });
      const table = layers.embedding({ entries: 7, features: 4 });
      const params = {
        table: await table.init(random.key(3), { device, dtype: F64 }),
        blocks: await blocks.init(random.key(4), { device, dtype: F64 }),
      };
      const inputs = await tensor(
        Int32Array.from({ length: N * 3 }, (_, k) => (k * k) % 7),
        {
          shape: [N, 3],
          device,
        },
      );
      const targets = await tensor(
        Int32Array.from({ length: N }, (_, k) => k % 3),
        { device },
      );
      const loss = async (own: typeof params, x: Tensor, labels: Tensor): Promise<Tensor> => {
        const rows = table.apply(own.table, x);
        const again = table.apply(own.table, x.flip(1));
        const scores = await blocks.apply(own.blocks, rows.add(again.mul(0.5)));
        return losses.crossEntropy(scores.mean(1), labels);
      };
      return { params, inputs, targets, loss };
    },
  ],
  [
    'a batch norm with running statistics',
    async (device) => {
      const norm = layers.batchNorm({ features: 2 });
      const model = layers.sequential({
        norm,
        flatten: layers.flatten(),
        last: layers.linear({ inputs: 6, outputs: 3 }),
      });
      const state = { norm: await norm.initState({ device, dtype: F64 }) };
      const inputs = await placed(await drawn(2, [N, 2, 3]), F64, device);
      return classified(model, inputs, device, (params, x) => model.apply(params, x, { state }));
    },
  ],
];

/** The gradients of examples, one after the other. */
async function byLoop({ params, inputs, targets, loss }: Problem): Promise<readonly Plain[]> {
  const each: Plain[][] = [];
  for (let n = 0; n < N; n++) {
    const one = grad(loss as (p: Tree, x: Tensor, y: Tensor) => Promise<Tensor>);
    const gradient = await one(params, inputs.slice([n, n + 1]), targets.slice([n, n + 1]));
    const leaves = await leavesOf(gradient, '');
    each.push(await Promise.all(leaves.map(async ({ value }) => toPlain(value))));
  }
  return (each[0] ?? []).map(({ shape }, at) => ({
    shape: [N, ...shape],
    data: Float64Array.from(each.flatMap((all) => [...(all[at] as Plain).data])),
  }));
}

const plains = async (tree: Tree): Promise<readonly Plain[]> =>
  Promise.all((await leavesOf(tree, '')).map(async ({ value }) => toPlain(value)));

function expectAll(given: readonly Plain[], wanted: readonly Plain[], tolerance = 1e-12): void {
  expect(given.length).toBe(wanted.length);
  for (const [at, one] of wanted.entries()) expectClose(given[at] as Plain, one, tolerance);
}

/** The norms of all rows. */
const normsOf = ({ shape: [count = 0], data }: Plain): Plain => ({
  shape: [count],
  data: Float64Array.from({ length: count }, (_, n) => {
    const size = data.length / count;
    return Math.hypot(...data.subarray(n * size, (n + 1) * size));
  }),
});

/** Gradients of single examples against a loop over them. */
export function perSampleSuite(name: string, place: () => Device): void {
  describe(`perSampleGradients on ${name}`, () => {
    let device: Device;
    beforeAll(() => {
      device = place();
    });

    describe.each(PROBLEMS)('%s', (_, make) => {
      it.each(['rules', 'vmap'] as const)(
        'by %s is what a loop gives, in chunks too',
        async (method) => {
          const problem = await make(device);
          const { params, inputs, targets, loss } = problem;
          const wanted = await byLoop(problem);
          const given = await perSampleGradients(loss as never, params, inputs, targets, {
            method,
          });
          expectAll(await plains(given), wanted);
          const chunks = await perSampleGradients(loss as never, params, inputs, targets, {
            method,
            chunkSize: 2,
          });
          expectAll(await plains(chunks), wanted);
          const all = { method, norms: true, chunkSize: 3 } as const;
          const { norms, total } = await perSampleGradients(
            loss as never,
            params,
            inputs,
            targets,
            all,
          );
          const each = wanted.map(normsOf);
          expectAll(await plains(norms), each, 1e-11);
          const whole = {
            shape: [N],
            data: Float64Array.from({ length: N }, (__, n) =>
              Math.hypot(...each.map(({ data }) => data[n] ?? NaN)),
            ),
          };
          expectClose(await toPlain(total), whole, 1e-11);
        },
      );
    });

    /** A tree like the parameters, of tensors for all examples, with other numbers in them. */
    const roomFor = async (params: Tree, count = N): Promise<Tree> =>
      replaced(
        params,
        await Promise.all(
          (await leavesOf(params, '')).map(({ value: { shape, dtype } }) =>
            full([count, ...shape], 7, { dtype, device }),
          ),
        ),
      ) as Tree;

    it.each(PROBLEMS)('of %s are captured and replayed, bit for bit', async (_, make) => {
      const { params, inputs, targets, loss } = await make(device);
      using other = await inputs.flip(0).clone();
      const given = loss as unknown as (p: Tree, x: Tensor, y: Tensor) => Promise<Tensor>;
      for (const options of [
        { method: 'rules' },
        { method: 'vmap' },
        { chunkSize: 2 },
        { norms: true },
        { norms: true, chunkSize: 3 },
      ] as const) {
        const each = (x: Tensor, y: Tensor): Promise<Tree> =>
          perSampleGradients(given, params, x, y, options as PerSampleOptions<false>);
        const replayed = await prepare(
          each as (x: Tensor, y: Tensor) => Promise<object>,
          inputs,
          targets,
        );
        const found = await plains(replayed(other, targets) as Tree);
        replayed.dispose();
        expect([options, found]).toEqual([options, await plains(await each(other, targets))]);
      }
    });

    it.each(PROBLEMS)('of %s are written where it is said, bit for bit', async (_, make) => {
      const { params, inputs, targets, loss } = await make(device);
      const given = loss as unknown as (p: Tree, x: Tensor, y: Tensor) => Promise<Tensor>;
      for (const options of [{ method: 'rules' }, { method: 'vmap' }, { chunkSize: 2 }] as const) {
        const wanted = await plains(
          await perSampleGradients(given, params, inputs, targets, options),
        );
        const out = await roomFor(params);
        const found = await perSampleGradients(given, params, inputs, targets, { ...options, out });
        const [there, told] = [await leavesOf(out, ''), await leavesOf(found, '')];
        expect(told.map(({ value }) => value)).toEqual(there.map(({ value }) => value));
        expect([options, await plains(out)]).toEqual([options, wanted]);
        // replays write there too, and give nothing
        using replayed = await prepare(
          async (x: Tensor, y: Tensor): Promise<void> => {
            await perSampleGradients(given, params, x, y, { ...options, out });
          },
          inputs,
          targets,
        );
        for (const { value } of there) await value.fill(7);
        replayed(inputs, targets);
        expect([options, await plains(out)]).toEqual([options, wanted]);
      }
    });

    it('refuses places that are no place for gradients, with nothing written', async () => {
      const layer = layers.linear({ inputs: 3, outputs: 2 });
      const params = await layer.init(random.key(1), { device });
      const x = await placed(await drawn(1, [4, 3]), 'float32', device);
      const y = await placed(await drawn(2, [4, 2]), 'float32', device);
      const loss = (p: typeof params, a: Tensor, b: Tensor) => losses.mse(layer.apply(p, a), b);
      const out = (await roomFor(params, 4)) as typeof params;
      const of = (given: object, more: object = {}) =>
        perSampleGradients(loss, params, x, y, { out: given, ...more });
      for (const [given, code, message] of [
        [{ weight: out.weight }, 'INVALID_ARGUMENT', /out\.bias is missing/],
        [{ ...out, more: x }, 'INVALID_ARGUMENT', /out\.more is no place of a parameter/],
        [await roomFor(params, 5), 'SHAPE_MISMATCH', /out\.weight is .*\[4, 2, 3\]/],
        [
          { ...out, bias: await full([4, 2], 7, { device, dtype: 'float64' }) },
          'DTYPE_MISMATCH',
          /out\.bias is .*gradients are float32/,
        ],
        [
          { ...out, bias: params.weight.slice([0, 1]).broadcastTo([4, 3]).slice(null, [0, 2]) },
          'OVERLAP',
          /./,
        ],
        [{ ...out, bias: y }, 'OVERLAP', /./],
      ] as const) {
        await expect(of(given)).rejects.toMatchObject({
          code,
          message: expect.stringMatching(message) as string,
        });
      }
      await expect(of(out, { norms: true })).rejects.toThrow(/out with norms: true/);
      for (const { value } of await leavesOf(out, ''))
        expect(new Set(Array.from(await value.toTypedArray(), Number))).toEqual(new Set([7]));
    });

    it('refuses places that the loss reads, by name, with nothing written', async () => {
      const layer = layers.linear({ inputs: 3, outputs: 2 });
      const params = await layer.init(random.key(1), { device });
      const x = await placed(await drawn(1, [4, 3]), 'float32', device);
      const y = await placed(await drawn(2, [4, 2]), 'float32', device);
      const out = (await roomFor(params, 4)) as typeof params;
      const reads: Readonly<Record<string, (a: Tensor) => unknown>> = {
        'out\\.weight shares .* \\(linear\\)': () => out.weight.slice(null, 0),
        'out\\.bias shares .* \\(add\\)': (a) => a.add((out.bias as Tensor).slice(null, [0, 1])),
      };
      for (const [message, read] of Object.entries(reads)) {
        const loss = async (p: typeof params, a: Tensor, b: Tensor) =>
          losses.mse(layer.apply(p, (await read(a)) as Tensor), b);
        for (const chunkSize of [2, 4]) {
          await expect(
            perSampleGradients(loss, params, x, y, { out, chunkSize }),
          ).rejects.toMatchObject({
            code: 'OVERLAP',
            message: expect.stringMatching(new RegExp(message)) as string,
          });
        }
      }
      for (const { value } of await leavesOf(out, ''))
        expect(new Set(Array.from(await value.toTypedArray(), Number))).toEqual(new Set([7]));
    });

    it('takes the sum of losses too, and float32', async () => {
      const layer = layers.linear({ inputs: 3, outputs: 2 });
      const params = await layer.init(random.key(1), { device });
      const [x, y] = [
        await placed(await drawn(1, [4, 3]), 'float32', device),
        await placed(await drawn(2, [4, 2]), 'float32', device),
      ];
      const loss = (reduction: 'mean' | 'sum') => async (p: typeof params, a: Tensor, b: Tensor) =>
        losses.mse(layer.apply(p, a), b, { reduction: 'none' }).sum(1)[reduction]();
      const of = async (reduction: 'mean' | 'sum') =>
        plains(
          await perSampleGradients(loss(reduction), params, x, y, { reduction, method: 'rules' }),
        );
      expectAll(await of('sum'), await of('mean'), 1e-6);
    });

    it('drops of each example what it drops in the batch, however it is cut', async () => {
      const [first, drop, second] = [
        layers.linear({ inputs: 3, outputs: 4 }),
        layers.dropout({ rate: 0.4 }),
        layers.linear({ inputs: 4, outputs: 2 }),
      ];
      const model = layers.sequential({ first, drop, second });
      const params = await model.init(random.key(1), { device, dtype: F64 });
      const x = await placed(await drawn(1, [N, 3]), F64, device);
      const context = { training: true, key: random.key(5) };
      // each example's part of the whole batch, by a factor that is 1 for it alone
      const each = async (p: typeof params, a: Tensor, factors: Tensor) =>
        model.apply(p, a, context).square().sum(1).mul(factors).sum();
      const wanted: (readonly Plain[])[] = [];
      for (let n = 0; n < N; n++) {
        const factors = await tensor(Array.from({ length: N }, (_, k) => (k === n ? 1 : 0)), { device, dtype: F64 }); // prettier-ignore
        wanted.push(await plains(await grad(each)(params, x, factors as Tensor)));
        factors.dispose();
      }
      const loss = async (p: typeof params, a: Tensor) =>
        model.apply(p, a, context).square().sum(1).mean();
      for (const chunkSize of [N, 2, 1]) {
        const found = await plains(
          await perSampleGradients(loss, params, x, undefined, { chunkSize, method: 'rules' }),
        );
        for (const [at, { data, shape }] of found.entries()) {
          const size = data.length / N;
          for (let n = 0; n < N; n++) {
            const own = { shape: shape.slice(1), data: data.slice(n * size, (n + 1) * size) };
            expectClose(own, (wanted[n] as readonly Plain[])[at] as Plain, 1e-13);
          }
        }
      }
    });

    it.each(['ignoreIndex', 'classWeights'] as const)(
      'of a mean by %s do not depend on the chunks: each example has its own',
      async (option) => {
        const layer = layers.linear({ inputs: 3, outputs: 2 });
        const params = await layer.init(random.key(1), { device, dtype: F64 });
        // of each example four words, of which some are padding
        const x = await placed(await drawn(1, [N, 4, 3]), F64, device);
        const own = Int32Array.from({ length: 4 * N }, (_, k) => (k % 4 > k / 4 ? -1 : k % 2));
        const labels = await tensor(own, { shape: [N, 4], device });
        const classWeights = (await tensor([0.5, 2], { device, dtype: F64 })) as Tensor;
        const options = { axis: 2, ignoreIndex: -1, ...(option === 'classWeights' && { classWeights }) }; // prettier-ignore
        const loss = (reduction: 'mean' | 'sum') => (p: typeof params, a: Tensor, b: Tensor) =>
          losses.crossEntropy(layer.apply(p, a), b, { ...options, reduction });
        for (const reduction of ['mean', 'sum'] as const) {
          const alone: Plain[] = [];
          for (let n = 0; n < N; n++) {
            const [a, b] = [x.slice([n, n + 1]), labels.slice([n, n + 1])] as [Tensor, Tensor];
            alone.push(await toPlain((await grad(loss(reduction))(params, a, b)).weight));
          }
          for (const chunkSize of [N, 2, 1]) {
            const found = await perSampleGradients(loss(reduction), params, x, labels, { reduction, chunkSize }); // prettier-ignore
            const { data } = await toPlain(found.weight);
            expectClose(
              { shape: [N, 6], data },
              { shape: [N, 6], data: Float64Array.from(alone.flatMap((one) => [...one.data])) },
              1e-13,
            );
          }
        }
        const byRules = perSampleGradients(loss('mean'), params, x, labels, { method: 'rules' });
        await expect(byRules).rejects.toMatchObject({
          code: 'UNSUPPORTED',
          message: expect.stringMatching(new RegExp(`mean of crossEntropy with ${option} .*reduction 'sum'`)) as unknown, // prettier-ignore
        });
      },
    );

    it('finds what is no use by a layer, and maps the gradient then', async () => {
      const layer = layers.linear({ inputs: 3, outputs: 1 });
      const params = await layer.init(random.key(1), { device, dtype: F64 });
      const x = await placed(await drawn(1, [N, 3]), F64, device);
      const y = await placed(await drawn(2, [N, 1]), F64, device);
      const loss = async (p: typeof params, a: Tensor, b: Tensor): Promise<Tensor> =>
        losses.mse(layer.apply(p, a), b).add(p.weight.square().sum());
      const wanted = await byLoop({ params, inputs: x, targets: y, loss });
      expectAll(await plains(await perSampleGradients(loss, params, x, y)), wanted);
      await expect(perSampleGradients(loss, params, x, y, { method: 'rules' })).rejects.toThrow(
        /^perSampleGradients: weight is used by square, which is no layer's use of it\. Leave method away/,
      );
      // where examples do not lie along axis 0
      const turned = async (p: typeof params, a: Tensor, b: Tensor): Promise<Tensor> =>
        losses.mse(
          functional.linear(a.reshape([1, a.shape[0] ?? 0, 3]), p.weight, p.bias).reshape(b.shape),
          b,
        );
      const other = await byLoop({
        params,
        inputs: x,
        targets: y,
        loss: turned,
      });
      expectAll(await plains(await perSampleGradients(turned, params, x, y)), other);
    });

    it.each([3, 4])('finds axes that were moved, of %d positions and 3 examples', async (T) => {
      const model = layers.sequential({
        norm: layers.layerNorm({ shape: 2 }),
        linear: layers.linear({ inputs: 2, outputs: 2 }),
      });
      const params = await model.init(random.key(1), { device, dtype: F64 });
      const x = await placed(await drawn(1, [3, T, 2]), F64, device);
      const y = await placed(await drawn(2, [3, T, 2]), F64, device);
      let calls = 0;
      const loss = (isMoved: boolean) => async (p: typeof params, a: Tensor, b: Tensor) => {
        calls++;
        const given = isMoved ? a.permute([1, 0, 2]) : a;
        const out = await model.apply(p, given);
        return losses.mse(isMoved ? out.permute([1, 0, 2]) : out, b);
      };
      for (const isMoved of [true, false]) {
        const own = loss(isMoved);
        const each: Plain[][] = [];
        for (let n = 0; n < 3; n++) {
          const [a, b] = [x.slice([n, n + 1]), y.slice([n, n + 1])];
          each.push([...(await plains(await grad(own)(params, a, b)))]);
        }
        const wanted = (each[0] as Plain[]).map(({ shape }, at) => ({
          shape: [3, ...shape],
          data: Float64Array.from(each.flatMap((all) => [...(all[at] as Plain).data])),
        }));
        for (const method of isMoved ? [undefined] : [undefined, 'rules' as const]) {
          const found = await perSampleGradients(own, params, x, y, { method });
          expectAll(await plains(found), wanted);
        }
        if (isMoved) {
          const rules = perSampleGradients(own, params, x, y, { method: 'rules' });
          await expect(rules).rejects.toThrow(/which have to lie along axis 0/);
        } else {
          // asked once where sizes do not tell, for the function and these sizes
          calls = 0;
          await perSampleGradients(own, params, x, y);
          expect(calls).toBe(1);
        }
      }
    });

    it('takes no vector for a batch', async () => {
      const layer = layers.linear({ inputs: 3, outputs: 1 });
      const params = await layer.init(random.key(1), { device, dtype: F64 });
      const x = await placed(await drawn(1, [3]), F64, device);
      const loss = async (p: typeof params, a: Tensor) => layer.apply(p, a).sum();
      const rules = perSampleGradients(loss as never, params, x, null, { method: 'rules' });
      await expect(rules).rejects.toThrow(/which have to lie along axis 0/);
    });

    it('adds nothing to an embedding for numbers without a row', async () => {
      const layer = layers.embedding({ entries: 3, features: 2 });
      const params = await layer.init(random.key(1), { device, dtype: F64 });
      const x = await tensor(Int32Array.of(-1, 1, 7, 2), { shape: [2, 2], device });
      const loss = async (p: typeof params, a: Tensor) => layer.apply(p, a).sum([1, 2]).mean();
      for (const method of ['rules', 'vmap'] as const) {
        const each = await perSampleGradients(loss as never, params, x, null, { method });
        expect(await each.weight.toNested()).toEqual([
          [[0, 0], [1, 1], [0, 0]], // prettier-ignore
          [[0, 0], [0, 0], [1, 1]], // prettier-ignore
        ]);
        const all = { method, norms: true } as const;
        const { total } = await perSampleGradients(loss as never, params, x, null, all);
        expect((await toPlain(total)).data).toEqual(Float64Array.of(Math.SQRT2, Math.SQRT2));
      }
    });

    it('takes no examples, and gives all memory back', async () => {
      const layer = layers.linear({ inputs: 3, outputs: 2 });
      const params = await layer.init(random.key(1), { device });
      const x = await placed(await drawn(1, [4, 3]), 'float32', device);
      const y = await placed(await drawn(2, [4, 2]), 'float32', device);
      const loss = (p: typeof params, a: Tensor, b: Tensor) => losses.mse(layer.apply(p, a), b);
      using first = x.slice([0, 0]);
      using second = y.slice([0, 0]);
      const none = await perSampleGradients(loss, params, first, second);
      expect(none.weight.shape).toEqual([0, 2, 3]);
      for (const one of await leavesOf(none, '')) one.value.dispose();
      const live = (): number => memory().devices.reduce((sum, one) => sum + one.liveBytes, 0);
      const run = async (): Promise<void> => {
        const each = await perSampleGradients(loss, params, x, y);
        const { norms, total } = await perSampleGradients(loss, params, x, y, {
          norms: true,
          chunkSize: 3,
        });
        const { value, grad: gradient, statistics } = await withStatistics(loss)(params, x, y);
        const made = [each, norms, gradient].map(async (tree) => leavesOf(tree, ''));
        for (const { value: one } of (await Promise.all(made)).flat()) one.dispose();
        for (const { inputs, outputGradients } of statistics) {
          inputs.dispose();
          outputGradients.dispose();
        }
        value.dispose();
        total.dispose();
        await device.synchronize();
      };
      await run();
      const before = live();
      await run();
      expect(live()).toBe(before);
      expect(await x.sum().item()).not.toBeNaN();
    });
  });

  describe(`withStatistics on ${name}`, () => {
    it('gives value and gradient as they are, inputs and gradients of outputs', async () => {
      const device = place();
      const model = layers.sequential({
        conv: layers.conv2d({ inputs: 1, outputs: 2, kernel: 2, stride: [2, 1], padding: [1, 0] }),
        relu: layers.relu(),
        flatten: layers.flatten(),
        list: layers.sequential([layers.linear({ inputs: 18, outputs: 3, bias: false })]),
      });
      const params = await model.init(random.key(1), { device, dtype: F64 });
      const x = await placed(await drawn(2, [N, 1, 4, 4]), F64, device);
      const labels = await tensor(
        Int32Array.from({ length: N }, (_, k) => k % 3),
        { device },
      );
      const loss = (p: typeof params, a: Tensor) => losses.crossEntropy(model.apply(p, a), labels);
      const plainly = await valueAndGrad(loss)(params, x);
      const { value, grad: gradient, statistics } = await withStatistics(loss)(params, x);
      expect(await value.item()).toBe(await plainly.value.item());
      expectAll(await plains(gradient), await plains(plainly.grad), 1e-15);
      expect(
        statistics.map(({ inputs, outputGradients, ...rest }) => ({
          ...rest,
          inputs: inputs.shape,
          outputs: outputGradients.shape,
        })),
      ).toEqual([
        {
          kind: 'conv2d',
          weight: 'conv.weight',
          bias: 'conv.bias',
          window: { kernel: [2, 2], stride: [2, 1], padding: [1, 0], dilation: [1, 1], groups: 1 },
          inputs: [N, 1, 4, 4],
          outputs: [N, 2, 3, 3],
        },
        { kind: 'linear', weight: 'list.0.weight', inputs: [N, 18], outputs: [N, 3] },
      ]);
      const [conv, last] = statistics;
      expect(await toPlain(conv?.inputs as Tensor)).toEqual(await toPlain(x));
      // the gradient of the weight is made of them
      const product = (last?.outputGradients as Tensor<'float64'>).matmul(
        last?.inputs as Tensor<'float64'>,
        { transposeA: true },
      );
      expectClose(await toPlain(await product), await toPlain(gradient.list[0].weight), 1e-14);
      const bias = (conv?.outputGradients as Tensor).sum([0, 2, 3]);
      expectClose(await toPlain(await bias), await toPlain(gradient.conv.bias as Tensor), 1e-14);
      const withAux = await withStatistics(
        async (p: typeof params, a: Tensor) => [loss(p, a), 'aux'] as const,
        { hasAux: true },
      )(params, x);
      expect(withAux.aux).toBe('aux');
      expect(withAux.statistics.length).toBe(2);
    });
  });
}
