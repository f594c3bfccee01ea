import { layers, random, type Tensor, type Tree } from '@mercer/core';
import { DIGIT_SIDE } from '../digits/load-digits.js';

type Layer = layers.Layer<unknown>;
type Value = ReturnType<Layer['apply']>;

/** A network that gives each image ten scores, one for each digit. */
export interface Model {
  /** Draws its parameters. */
  readonly init: (key: random.RandomKey, device: layers.Placement['device']) => Promise<Tree>;
  /** Scores (N, 10) of images (N, 784). */
  readonly scores: (params: Tree, images: Tensor) => Value;
  /** Paths of parameters that are of no linear layer and no convolution. */
  readonly plain: readonly string[];
  /** The path of the weights of the last layer. */
  readonly last: string;
}

export const MODEL_NAMES = ['perceptron', 'convolutional', 'transformer'] as const;
export type ModelName = (typeof MODEL_NAMES)[number];

const HIDDEN = 128;
const PATCH = 7;
const PATCHES = DIGIT_SIDE / PATCH;
const FEATURES = 32;
const HEADS = 4;

/** The network of a name. */
export function modelOf(name: ModelName): Model {
  const { layer, input = (x: Tensor): Value => x, plain = [] } = MAKERS[name]();
  return {
    init: async (key, device) => (await layer.init(key, { device })) as Tree,
    scores: (params, images) => layer.apply(params, input(images)),
    plain,
    last: 'output.weight',
  };
}

interface Made {
  readonly layer: Layer;
  /** Images (N, 784) in the shape that the layers take. */
  readonly input?: (images: Tensor) => Value;
  readonly plain?: readonly string[];
}

const MAKERS: Readonly<Record<ModelName, () => Made>> = {
  perceptron: () => ({
    layer: layers.sequential({
      hidden: layers.linear({ inputs: DIGIT_SIDE ** 2, outputs: HIDDEN }),
      relu: layers.relu(),
      second: layers.linear({ inputs: HIDDEN, outputs: HIDDEN }),
      relu2: layers.relu(),
      output: layers.linear({ inputs: HIDDEN, outputs: 10 }),
    }),
  }),
  convolutional: () => ({
    input: (x) => x.reshape([x.shape[0] ?? 0, 1, DIGIT_SIDE, DIGIT_SIDE]),
    layer: layers.sequential({
      first: layers.conv2d({ inputs: 1, outputs: 8, kernel: 5, stride: 2, padding: 2 }),
      relu: layers.relu(),
      second: layers.conv2d({ inputs: 8, outputs: 16, kernel: 3, stride: 2, padding: 1 }),
      relu2: layers.relu(),
      flatten: layers.flatten(),
      output: layers.linear({ inputs: 16 * (DIGIT_SIDE / 4) ** 2, outputs: 10 }),
    }),
  }),
  transformer: () => ({
    input: patches,
    layer: layers.sequential({
      embedding: layers.linear({ inputs: PATCH ** 2, outputs: FEATURES }),
      positions: positions([PATCHES ** 2, FEATURES]),
      attention: residual({
        norm: layers.layerNorm({ shape: FEATURES }),
        inner: layers.multiHeadAttention({ features: FEATURES, heads: HEADS }),
      }),
      network: residual({
        norm: layers.layerNorm({ shape: FEATURES }),
        first: layers.linear({ inputs: FEATURES, outputs: 2 * FEATURES }),
        gelu: layers.gelu(),
        second: layers.linear({ inputs: 2 * FEATURES, outputs: FEATURES }),
      }),
      norm: layers.layerNorm({ shape: FEATURES }),
      mean: layers.activation('mean', (x) => x.mean(1)),
      output: layers.linear({ inputs: FEATURES, outputs: 10 }),
    }),
    plain: [
      'positions.weight',
      ...['attention.norm', 'network.norm', 'norm'].flatMap((norm) => [
        `${norm}.weight`,
        `${norm}.bias`,
      ]),
    ],
  }),
};

/** Images as rows of patches: (N, 16, 49). */
function patches(x: Tensor): Value {
  const count = x.shape[0] ?? 0;
  return x
    .reshape([count, PATCHES, PATCH, PATCHES, PATCH])
    .permute([0, 1, 3, 2, 4])
    .contiguous()
    .reshape([count, PATCHES ** 2, PATCH ** 2]);
}

/** Adds to each place what stands for it. */
const positions = (shape: readonly number[]): Layer => ({
  name: 'positions',
  init: async (key, placement) => ({
    weight: await random.normal(shape, { key, deviation: 0.02, device: placement?.device }),
  }),
  apply: (params, x) => x.add((params as { readonly weight: Value }).weight),
});

/** What its layers give, added to what they were given. */
function residual(named: Parameters<typeof layers.sequential>[0]): Layer {
  const inner: Layer = layers.sequential(named);
  return { ...inner, apply: (params, x, context) => x.add(inner.apply(params, x, context)) };
}
