import { grad } from '@mercer/autodiff';
import { memory, random, tensor, zeros, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { undisposed } from '../../tensor/test/memory-kept.mjs';
import {
  autocast,
  functional,
  initialisers,
  layers,
  losses,
  perSampleGradients,
  withStatistics,
} from './index.js';

const where = { device: 'cpu' } as const;
const make = async (...shape: readonly number[]): Promise<Tensor> => zeros(shape, where);
const any = (value: unknown): never => value as never;

describe('layers refuse', () => {
  it.each<[string, () => unknown, RegExp]>([
    [
      'no inputs',
      () => layers.linear(any({ outputs: 2 })),
      /linear: inputs is undefined\. Pass a whole number of at least 1/,
    ],
    ['a fraction', () => layers.linear({ inputs: 2.5, outputs: 2 }), /inputs is 2\.5/],
    [
      'an unknown option',
      () => layers.linear(any({ inputs: 1, output: 2 })),
      /there is no option 'output'\. Did you mean 'outputs'/,
    ],
    ['no options', () => layers.conv2d(any(undefined)), /conv2d: inputs is undefined/],
    [
      'a bias that is no flag',
      () => layers.linear(any({ inputs: 1, outputs: 1, bias: 1 })),
      /linear: bias is 1\. Pass true or false/,
    ],
    [
      'an initialiser that is none',
      () => layers.linear(any({ inputs: 1, outputs: 1, weightInit: 0 })),
      /weightInit is 0\. Pass an initialiser/,
    ],
    [
      'three numbers for two axes',
      () => layers.conv2d({ inputs: 1, outputs: 1, kernel: [1, 2, 3] }),
      /conv2d: kernel is \[1, 2, 3\]\. Pass a number, or 2 of them/,
    ],
    [
      'a stride of 0',
      () => layers.conv1d({ inputs: 1, outputs: 1, kernel: 1, stride: 0 }),
      /conv1d: stride is 0/,
    ],
    [
      'a padding below 0',
      () => layers.conv1d({ inputs: 1, outputs: 1, kernel: 1, padding: -1 }),
      /padding is -1\. Pass a whole number of at least 0/,
    ],
    [
      'groups that do not divide',
      () => layers.conv2d({ inputs: 3, outputs: 4, kernel: 1, groups: 2 }),
      /no multiples of 2 groups/,
    ],
    [
      'heads that do not divide',
      () => layers.multiHeadAttention({ features: 6, heads: 4 }),
      /6 features are no multiple of 4 heads/,
    ],
    [
      'a scale that is NaN',
      () => layers.multiHeadAttention({ features: 4, heads: 2, scale: NaN }),
      /scale is NaN/,
    ],
    [
      'a rate above 1',
      () => layers.dropout({ rate: 1.5 }),
      /dropout: rate is 1\.5\. Pass a finite number from 0 to 1/,
    ],
    ['no axes of a norm', () => layers.layerNorm({ shape: [] }), /layerNorm: shape is \[\]/],
    ['an epsilon below 0', () => layers.batchNorm({ features: 2, epsilon: -1 }), /epsilon is -1/],
    [
      'too much padding of a pool',
      () => layers.maxPool2d({ kernel: 2, padding: 2 }),
      /more than half of the kernel/,
    ],
    [
      'an activation that is none',
      () => layers.activation('x', any(3)),
      /expected a function of a tensor, got 3/,
    ],
    [
      'what is no layer',
      () => layers.sequential({ a: any(() => 1) }),
      /sequential: a is a function, which is no layer/,
    ],
    ['no layers', () => layers.sequential(any(null)), /expected layers by name, got null/],
    [
      'an odd mode',
      () => initialisers.kaimingUniform(any({ mode: 'fan_in' })),
      /mode is "fan_in"\. Pass 'fanIn' or 'fanOut'/,
    ],
    [
      'a constant that is no number',
      () => initialisers.constant(any('0')),
      /constant: the value is "0"/,
    ],
    [
      'a reduction that is none',
      () => losses.mse(any(0), any(0), any({ reduction: 'avg' })),
      /mse: reduction is "avg"\. Pass 'mean', 'sum' or 'none'/,
    ],
    ['a delta of 0', () => losses.huber(any(0), any(0), { delta: 0 }), /huber: delta is 0/],
    [
      'too much smoothing',
      () => losses.crossEntropy(any(0), any(0), { labelSmoothing: 2 }),
      /labelSmoothing is 2/,
    ],
    [
      'a loss that is no function',
      () => withStatistics(any(3)),
      /withStatistics: expected a function, got 3/,
    ],
    ['a cast of nothing', () => autocast(any(null)), /autocast: expected a function, got null/],
    [
      'a dtype of 32 bits',
      () => autocast(() => 1, any({ dtype: 'float32' })),
      /dtype is "float32"\. Pass 'bfloat16' or 'float16'/,
    ],
  ])('%s', (_, run, message) => {
    expect(run).toThrow(message);
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'other features',
      async () =>
        layers
          .linear({ inputs: 3, outputs: 2 })
          .apply({ weight: await make(2, 3) }, await make(5, 4)),
      /^linear: x is float32 \[5, 4\] and weight float32 \[2, 3\]: the last axis of x has to have 3 elements/,
    ],
    [
      'a number',
      async () => functional.linear(any(3), await make(2, 3)),
      /^linear: x: expected a tensor, got 3/,
    ],
    [
      'the promise of a number',
      async () => functional.linear(any(Promise.resolve(1)), await make(2, 3)),
      /^linear: x: expected a tensor, got 1/,
    ],
    [
      'a weight of one axis',
      async () => functional.linear(await make(2), await make(2)),
      /weight is float32 \[2\]\. Pass \(outputs, inputs\)/,
    ],
    [
      'a bias of another length',
      async () => functional.linear(await make(1, 3), await make(2, 3), await make(3)),
      /bias is float32 \[3\] .* Pass a bias of shape \[2\]/,
    ],
    [
      'two dtypes',
      async () =>
        functional.linear(await make(1, 3), await zeros([2, 3], { ...where, dtype: 'float64' })),
      /matmul: b is float64/,
    ],
    [
      'an image without a batch',
      async () => functional.conv2d(await make(1, 5, 5), await make(2, 1, 3, 3)),
      /conv2d: x is float32 \[1, 5, 5\]\. Pass \(N, channels, height, width\)/,
    ],
    [
      'other channels',
      async () =>
        functional.conv2d(await make(1, 3, 5, 5), await make(4, 2, 3, 3), undefined, { groups: 2 }),
      /with 2 groups: x has to have 4 channels, 2 for each group/,
    ],
    [
      'an image below the kernel',
      async () =>
        functional.conv2d(await make(1, 1, 5, 5), await make(1, 1, 3, 3), undefined, {
          dilation: 3,
        }),
      /a window that reaches over 7 elements does not fit into 5/,
    ],
    [
      'an unknown option',
      async () =>
        functional.conv2d(
          await make(1, 1, 5, 5),
          await make(1, 1, 3, 3),
          undefined,
          any({ strides: 2 }),
        ),
      /no option 'strides'\. Did you mean 'stride'/,
    ],
    [
      'numbers that are not whole',
      async () => functional.embedding(await make(2), await make(3, 2)),
      /embedding: indices: expected int32 or int64, got float32 \[2\]/,
    ],
    [
      'last axes of another extent',
      async () => layers.layerNorm({ shape: [2, 3] }).apply({}, await make(3, 2)),
      /layerNorm: x is float32 \[3, 2\], and the layer is of \[2, 3\]/,
    ],
    [
      'a batch norm of one example in training',
      async () => layers.batchNorm({ features: 2 }).apply({}, await make(1, 2), { training: true }),
      /in training x is float32 \[1, 2\], which has one value for each feature/,
    ],
    [
      'other features of a batch',
      async () => layers.batchNorm({ features: 3 }).apply({}, await make(5, 2), { training: true }),
      /batchNorm: x is float32 \[5, 2\], and the layer has 3 features/,
    ],
    [
      'no running statistics',
      async () => layers.batchNorm({ features: 2 }).apply({}, await make(5, 2)),
      /there are no running statistics\. Pass \{ state \}/,
    ],
    [
      'no state',
      async () =>
        layers.withState(layers.batchNorm({ features: 2 }))({}, await make(5, 2), any({})),
      /batchNorm gets no state/,
    ],
    [
      'no key',
      async () => layers.dropout().apply({}, await make(2), { training: true }),
      /dropout: in training there is no key/,
    ],
    [
      'an unknown context',
      async () => layers.relu().apply({}, await make(2), any({ train: true })),
      /relu: there is no option 'train'\. The options are training/,
    ],
    [
      'keys of other features',
      async () => functional.attention(await make(3, 4), await make(3, 2), await make(3, 2)),
      /attention: queries are float32 \[3, 4\], keys float32 \[3, 2\]/,
    ],
    [
      'one row',
      async () =>
        layers
          .multiHeadAttention({ features: 4, heads: 2 })
          .apply(
            await layers.multiHeadAttention({ features: 4, heads: 2 }).init(random.key(1), where),
            await make(4),
          ),
      /Pass \(\.\., N, features\)/,
    ],
    [
      'a dtype of whole numbers',
      async () =>
        layers
          .relu()
          .init(random.key(1), where)
          .then(async () =>
            layers.linear({ inputs: 1, outputs: 1 }).init(random.key(1), any({ dtype: 'int32' })),
          ),
      /linear: dtype is "int32"\. Pass one of float32/,
    ],
    [
      'no key for parameters',
      async () => layers.linear({ inputs: 1, outputs: 1 }).init(any(7), where),
      /the key is 7/,
    ],
    [
      'targets of another shape',
      async () => losses.mse(await make(3, 1), await make(3)),
      /mse: the prediction is float32 \[3, 1\] and the target float32 \[3\]/,
    ],
    [
      'NaN for scores',
      async () => losses.crossEntropy(NaN as never, await make(3)),
      /crossEntropy: the scores: expected a tensor, got NaN/,
    ],
    [
      'labels of another length',
      async () => losses.crossEntropy(await make(3, 4), await tensor(Int32Array.of(1, 2), where)),
      /classes along axis 1, and the labels int32 \[2\]\. Pass labels of shape \[3\]/,
    ],
    [
      'labels that are probabilities',
      async () => losses.crossEntropy(await make(3, 4), await make(3, 4)),
      /the labels: expected int32 or int64, got float32 \[3, 4\]\. .*argMax\(1\)/,
    ],
    [
      'an axis that is not there',
      async () =>
        losses.crossEntropy(await make(3, 4), await tensor(Int32Array.of(1, 2, 3), where), {
          axis: 2,
        }),
      /crossEntropy.*2/,
    ],
    [
      'no parameters',
      async () => withStatistics(async (p: { a?: Tensor }) => p.a as Tensor)({}),
      /withStatistics: argument 0 holds no tensor/,
    ],
    [
      'a loss of several elements',
      async () => withStatistics(async (p: Tensor) => p)(await make(3)),
      /a gradient is of a value with one element/,
    ],
    [
      'other numbers of examples',
      async () =>
        perSampleGradients(
          any(async () => make()),
          await make(2),
          await make(3, 2),
          await make(4),
        ),
      /inputs have shape \[3, 2\], and the targets have shape \[4\]\. Pass tensors with the same number of examples/,
    ],
    [
      'inputs that are none',
      async () =>
        perSampleGradients(
          any(async () => make()),
          await make(2),
          7,
          7,
        ),
      /perSampleGradients: the inputs is 7/,
    ],
    [
      'an odd method',
      async () =>
        perSampleGradients(
          any(async () => make()),
          await make(2),
          await make(3),
          7,
          any({ method: 'loop' }),
        ),
      /method is "loop"\. Pass 'rules' or 'vmap'/,
    ],
    [
      'chunks of nothing',
      async () =>
        perSampleGradients(
          any(async () => make()),
          await make(2),
          await make(3),
          7,
          { chunkSize: 0 },
        ),
      /chunkSize is 0/,
    ],
  ])('%s', async (_, run, message) => {
    await expect((async () => run())()).rejects.toThrow(message);
  });

  it('statistics of a batch where gradients of single examples are asked for', async () => {
    const model = layers.sequential({ norm: layers.batchNorm({ features: 2 }) });
    const params = await model.init(random.key(1), where);
    const x = await random.normal([4, 2], { key: random.key(2), ...where });
    const loss = async (p: typeof params, a: Tensor): Promise<Tensor> =>
      model.apply(p, a, { training: true }).square().mean();
    await expect(perSampleGradients(loss, params, x, undefined)).rejects.toThrow(
      /^perSampleGradients: batchNorm in training makes each loss depend on all examples/,
    );
  });

  it('a parameter without influence, by name', async () => {
    const layer = layers.linear({ inputs: 2, outputs: 1 });
    const params = { used: await layer.init(random.key(1), where), idle: await make(3) };
    const loss = async (p: typeof params, a: Tensor): Promise<Tensor> =>
      layer.apply(p.used, a).square().mean();
    await expect(perSampleGradients(loss, params, await make(4, 2), undefined)).rejects.toThrow(
      /idle/,
    );
  });
});

it('layers and losses give back what they compute between, and pass NaN on', async () => {
  const model = layers.sequential({
    conv: layers.conv2d({ inputs: 1, outputs: 2, kernel: 3, padding: 1 }),
    norm: layers.batchNorm({ features: 2 }),
    pool: layers.averagePool2d({ kernel: 2 }),
    dropout: layers.dropout(),
    flatten: layers.flatten(),
    linear: layers.linear({ inputs: 8, outputs: 3 }),
  });
  const params = await model.init(random.key(1), where);
  const state = await model.initState(where);
  const x = await random.normal([5, 1, 4, 4], { key: random.key(2), ...where });
  const labels = await tensor(Int32Array.of(0, 1, 2, 0, 1), where);
  const run = async (): Promise<void> => {
    const scores = await model.apply(params, x, { state, key: random.key(1) });
    const value = await losses.crossEntropy(scores, labels);
    const next = await layers.withState(model)(params, x, { state, key: random.key(1) });
    for (const one of [scores, value, next.output, ...Object.values(next.state.norm)])
      one.dispose();
  };
  await run();
  const before = undisposed(memory());
  await run();
  expect(undisposed(memory())).toEqual(before);
  const odd = await tensor([[NaN, 1, 2]], where);
  expect(await losses.mse(odd, odd).item()).toBeNaN();
  const gradient = await grad((v: Tensor) => losses.crossEntropy(v, labels.slice([0, 1])))(
    odd as Tensor,
  );
  expect((await gradient.toNested<number[][]>()).flat()).toEqual([NaN, NaN, NaN]);
});
