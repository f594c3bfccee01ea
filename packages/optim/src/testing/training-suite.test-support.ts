import { prepare, valueAndGrad, type Tree } from '@mercer/autodiff';
import { leavesOf, replaced } from '@mercer/autodiff/transform';
import { random, type Device, type Tensor } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';
import { beforeAll, describe, expect, it } from 'vitest';
import { autocast, layers, losses } from '../index.js';
import { digits, SMALL } from './digits.test-support.js';

/** Adam, as it is published. */
async function descended<P extends Tree>(
  loss: (params: P, step: number) => Promise<Tensor>,
  params: P,
  steps: number,
  rate = 0.02,
): Promise<{ readonly first: number; readonly last: number; readonly params: P }> {
  let now = (await leavesOf(params, '')).map(({ value }) => ({
    w: value,
    m: value.mul(0),
    v: value.mul(0),
  }));
  const seen: number[] = [];
  for (let step = 0; step < steps; step++) {
    const { value, grad } = await valueAndGrad((p: P) => loss(p, step))(
      replaced(
        params,
        now.map(({ w }) => w),
      ) as P,
    );
    seen.push((await value.item()) as number);
    const slopes = (await leavesOf(grad, '')).map((leaf) => leaf.value);
    now = await Promise.all(
      slopes.map(async (g, at) => {
        const { w, m, v } = now[at] as (typeof now)[0];
        const first = await m.mul(0.9).add(g.mul(0.1));
        const second = await v.mul(0.99).add(g.square().mul(0.01));
        const root = second
          .div(1 - 0.99 ** (step + 1))
          .sqrt()
          .add(1e-8);
        const next = await w.sub(first.mul(rate / (1 - 0.9 ** (step + 1))).div(root));
        return { w: next as Tensor, m: first, v: second } as unknown as (typeof now)[0];
      }),
    );
  }
  const learnt = replaced(
    params,
    now.map(({ w }) => w),
  ) as P;
  return { first: seen[0] ?? NaN, last: seen.at(-1) ?? NaN, params: learnt };
}

const perceptron = layers.sequential({
  flatten: layers.flatten(),
  hidden: layers.linear({ inputs: SMALL * SMALL, outputs: 24 }),
  relu: layers.relu(),
  output: layers.linear({ inputs: 24, outputs: 10 }),
});

const convolutional = layers.sequential({
  image: layers.activation('image', (x) =>
    x.reshape([-1, 1, SMALL, SMALL].map((n) => (n < 0 ? COUNT : n))),
  ),
  conv: layers.conv2d({ inputs: 1, outputs: 8, kernel: 3, padding: 1 }),
  norm: layers.batchNorm({ features: 8 }),
  relu: layers.relu(),
  pool: layers.maxPool2d({ kernel: 2 }),
  dropout: layers.dropout({ rate: 0.1 }),
  flatten: layers.flatten(),
  output: layers.linear({ inputs: 72, outputs: 10 }),
});

const EACH = 5;
const COUNT = 10 * EACH;
const FEATURES = 12;

/** A transformer that reads the rows of an image. */
const transformer = {
  embed: layers.linear({ inputs: SMALL, outputs: FEATURES }),
  places: layers.embedding({ entries: SMALL, features: FEATURES }),
  norm: layers.layerNorm({ shape: FEATURES }),
  attention: layers.multiHeadAttention({ features: FEATURES, heads: 3 }),
  mlp: layers.sequential([
    layers.layerNorm({ shape: FEATURES }),
    layers.linear({ inputs: FEATURES, outputs: 24 }),
    layers.gelu(),
    layers.linear({ inputs: 24, outputs: FEATURES }),
  ]),
  output: layers.linear({ inputs: FEATURES, outputs: 10 }),
};

type TransformerParams = {
  readonly [K in keyof typeof transformer]: layers.ParamsOf<(typeof transformer)[K]>;
};

async function transformerParams(device: Device): Promise<TransformerParams> {
  const made = Object.entries(transformer).map(async ([name, layer], at) => [
    name,
    await (layer as layers.Layer<unknown>).init(random.foldIn(random.key(3), at), { device }),
  ]);
  return Object.fromEntries(await Promise.all(made)) as TransformerParams;
}

function transformed(p: TransformerParams, images: Tensor): Value {
  const { embed, norm, attention, mlp, output } = transformer;
  // a place for each row: the weight of an embedding as it is
  const rows = embed.apply(p.embed, images).add(p.places.weight);
  const seen = rows.add(attention.apply(p.attention, norm.apply(p.norm, rows)));
  const thought = seen.add(mlp.apply(p.mlp, seen));
  return output.apply(p.output, thought.mean(1));
}

/** Networks that learn a few digits. */
export function trainingSuite(name: string, place: () => Device): void {
  describe(`training on ${name}`, () => {
    let device: Device;
    let images: Tensor<'float32'>;
    let labels: Tensor<'int32'>;
    beforeAll(async () => {
      device = place();
      ({ images, labels } = await digits(EACH, device));
    });

    const rightOf = async (scores: Value): Promise<number> => {
      const found = await scores.argMax(1);
      return await found.eq(labels).cast('float32').mean().item();
    };

    it.each(['float32', 'bfloat16', 'float16'] as const)(
      'a perceptron learns, by products of %s',
      async (dtype) => {
        const params = await perceptron.init(random.key(1), { device });
        const loss = async (p: typeof params): Promise<Tensor> =>
          losses.crossEntropy(perceptron.apply(p, images), labels);
        const own = dtype === 'float32' ? loss : autocast(loss, { dtype });
        const { first, last, params: learnt } = await descended(own, params, 40);
        expect(first).toBeGreaterThan(2);
        expect(last).toBeLessThan(0.2);
        expect(await rightOf(perceptron.apply(learnt, images))).toBeGreaterThan(0.95);
      },
    );

    it('a convolutional network learns, with batch norm and dropout', async () => {
      const params = await convolutional.init(random.key(2), { device });
      let state = await convolutional.initState({ device });
      const step = layers.withState(convolutional);
      let latest = state;
      const loss = async (p: typeof params, at: number): Promise<Tensor> => {
        const key = random.foldIn(random.key(9), at);
        const { output } = await step(p, images, { state, key });
        return losses.crossEntropy(output, labels);
      };
      const { last, params: learnt } = await descended(loss, params, 28);
      expect(last).toBeLessThan(0.3);
      // running statistics of the network as it is
      for (let k = 0; k < 30; k++) {
        ({ state: latest } = await step(learnt, images, { state: latest, key: random.key(k) }));
      }
      state = latest;
      expect(await rightOf(convolutional.apply(learnt, images, { state }))).toBeGreaterThan(0.95);
    });

    it.each(['relu', 'tanh'] as const)(
      'a perceptron learns with dropout between its layers, behind %s',
      async (activation) => {
        const network = layers.sequential({
          flatten: layers.flatten(),
          first: layers.linear({ inputs: SMALL * SMALL, outputs: 32 }),
          activation: layers[activation](),
          dropout: layers.dropout({ rate: 0.1 }),
          second: layers.linear({ inputs: 32, outputs: 16 }),
          again: layers.dropout({ rate: 0.1 }),
          last: layers.linear({ inputs: 16, outputs: 10 }),
        });
        const params = await network.init(random.key(1), { device });
        const loss = async (p: typeof params, at: number): Promise<Tensor> => {
          const context = { training: true, key: random.foldIn(random.key(9), at) };
          return losses.crossEntropy(network.apply(p, images, context), labels);
        };
        const { last } = await descended(loss, params, 40);
        expect(last).toBeLessThan(0.6);
      },
    );

    it('a transformer learns', async () => {
      const params = await transformerParams(device);
      const loss = async (p: TransformerParams): Promise<Tensor> =>
        losses.crossEntropy(transformed(p, images), labels, {
          labelSmoothing: 0.05,
        });
      const { last, params: learnt } = await descended(loss, params, 40);
      expect(last).toBeLessThan(0.7);
      expect(await rightOf(transformed(learnt, images))).toBeGreaterThan(0.9);
    });

    it.each<[string, () => Promise<unknown>, (p: never, x: Tensor) => Value]>([
      [
        'perceptron',
        async () => perceptron.init(random.key(1), { device }),
        (p, x) => perceptron.apply(p, x),
      ],
      [
        'convolutional network',
        async () => convolutional.init(random.key(1), { device }),
        (p, x) => convolutional.apply(p, x, { training: true, key: random.key(4) }),
      ],
      ['transformer', async () => transformerParams(device), transformed],
    ])('a step of a %s is captured and replayed, bit for bit', async (_, init, scores) => {
      const params = (await leavesOf(await init(), '')).map(({ value }) => value);
      const tree = await init();
      const loss = async (p: readonly Tensor[], x: Tensor, y: Tensor): Promise<Tensor> =>
        losses.crossEntropy(scores(replaced(tree, p) as never, x), y);
      const gradient = valueAndGrad(loss);
      using step = await prepare(gradient, params, images, labels);
      const again = step(params, images, labels);
      const plainly = await gradient(params, images, labels);
      expect(await again.value.item()).toBe(await plainly.value.item());
      for (const [at, one] of again.grad.entries())
        expect(await one.toNested()).toEqual(await plainly.grad[at]?.toNested());
    });
  });
}
