import { type Tensor } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';
import { functional, layers } from '../index.js';
import { at, each, plain, sumOf, type Plain } from './references.test-support.js';

type Arrays = Readonly<Record<string, Plain>>;
type Tensors = Readonly<Record<string, Tensor>>;

/** A layer with what it computes, by plain loops. */
export interface LayerCase {
  readonly name: string;
  /** Shapes of what it is called with. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly run: (tensors: Tensors) => Value;
  readonly reference: (arrays: Arrays) => Plain;
}

const get = <T>(from: Readonly<Record<string, T>>, name: string): T => from[name] as T;

function weightsOf(t: Tensors): { weight: Tensor; bias?: Tensor } {
  const { weight, bias } = t;
  return { weight: weight as Tensor, ...(bias !== undefined && { bias }) };
}

function linearCase(name: string, x: readonly number[], outputs: number, bias = true): LayerCase {
  const inputs = x.at(-1) as number;
  const layer = layers.linear({ inputs, outputs, bias });
  return {
    name: `linear, ${name}`,
    shapes: { x, weight: [outputs, inputs], ...(bias && { bias: [outputs] }) },
    run: (t) => layer.apply(weightsOf(t), get(t, 'x')),
    reference: (a) =>
      plain([...x.slice(0, -1), outputs], (index) => {
        const o = index.at(-1) as number;
        const lead = index.slice(0, -1);
        const sum = sumOf(inputs, (k) => at(get(a, 'x'), ...lead, k) * at(get(a, 'weight'), o, k));
        return sum + (bias ? at(get(a, 'bias'), o) : 0);
      }),
  };
}

interface Moves {
  readonly stride?: readonly [number, number];
  readonly padding?: readonly [number, number];
  readonly dilation?: readonly [number, number];
  readonly groups?: number;
  readonly bias?: boolean;
}

function conv2dCase(
  name: string,
  x: readonly [number, number, number, number],
  outputs: number,
  kernel: readonly [number, number],
  moves: Moves = {},
): LayerCase {
  const [examples, inputs, height, width] = x;
  const { stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1, bias = true } = moves;
  const layer = layers.conv2d({ inputs, outputs, kernel, stride, padding, dilation, groups, bias });
  const own = inputs / groups;
  const places = [height, width].map((n, k) =>
    Math.floor(
      (n + 2 * (padding[k] as number) - (dilation[k] as number) * ((kernel[k] as number) - 1) - 1) /
        (stride[k] as number) +
        1,
    ),
  );
  return {
    name: `conv2d, ${name}`,
    shapes: { x, weight: [outputs, own, ...kernel], ...(bias && { bias: [outputs] }) },
    run: (t) => layer.apply(weightsOf(t), get(t, 'x')),
    reference: (a) =>
      plain([examples, outputs, ...places], ([n = 0, o = 0, i = 0, j = 0]) => {
        const first = Math.floor(o / (outputs / groups)) * own;
        let sum = bias ? at(get(a, 'bias'), o) : 0;
        each([own, ...kernel], ([c = 0, p = 0, q = 0]) => {
          const row = i * stride[0] - padding[0] + p * dilation[0];
          const column = j * stride[1] - padding[1] + q * dilation[1];
          sum += at(get(a, 'x'), n, first + c, row, column) * at(get(a, 'weight'), o, c, p, q);
        });
        return sum;
      }),
  };
}

function conv1dCase(): LayerCase {
  const layer = layers.conv1d({
    inputs: 4,
    outputs: 6,
    kernel: 3,
    stride: 2,
    padding: 2,
    dilation: 2,
    groups: 2,
  });
  return {
    name: 'conv1d, with everything',
    shapes: { x: [3, 4, 7], weight: [6, 2, 3], bias: [6] },
    run: (t) => layer.apply(weightsOf(t), get(t, 'x')),
    reference: (a) =>
      plain([3, 6, 4], ([n = 0, o = 0, i = 0]) => {
        let sum = at(get(a, 'bias'), o);
        each([2, 3], ([c = 0, p = 0]) => {
          const channel = Math.floor(o / 3) * 2 + c;
          sum += at(get(a, 'x'), n, channel, 2 * i - 2 + 2 * p) * at(get(a, 'weight'), o, c, p);
        });
        return sum;
      }),
  };
}

/** Mean 0 and variance 1 over some elements of each of several groups. */
function standardised(
  x: Plain,
  groupOf: (index: readonly number[]) => string,
  epsilon: number,
): Plain {
  const groups = new Map<string, number[]>();
  each(x.shape, (index, k) => {
    const name = groupOf(index);
    groups.set(name, [...(groups.get(name) ?? []), x.data[k] as number]);
  });
  const known = new Map(
    [...groups].map(([name, all]) => {
      const mean = all.reduce((a, b) => a + b, 0) / all.length;
      const variance = all.reduce((a, b) => a + (b - mean) ** 2, 0) / all.length;
      return [name, [mean, Math.sqrt(variance + epsilon)] as const];
    }),
  );
  return plain(x.shape, (index) => {
    const [mean, deviation] = known.get(groupOf(index)) as readonly [number, number];
    return (at(x, ...index) - mean) / deviation;
  });
}

function layerNormCase(x: readonly number[], shape: readonly number[], affine = true): LayerCase {
  const layer = layers.layerNorm({ shape, epsilon: 1e-2, weight: affine });
  const lead = x.length - shape.length;
  return {
    name: `layerNorm of the last ${shape.length} axes${affine ? '' : ', without a weight'}`,
    shapes: { x, ...(affine && { weight: shape, bias: shape }) },
    run: (t) => layer.apply(affine ? weightsOf(t) : {}, get(t, 'x')),
    reference: (a) => {
      const normal = standardised(get(a, 'x'), (index) => index.slice(0, lead).join(), 1e-2);
      if (!affine) return normal;
      return plain(x, (index) => {
        const own = index.slice(lead);
        return at(normal, ...index) * at(get(a, 'weight'), ...own) + at(get(a, 'bias'), ...own);
      });
    },
  };
}

function batchNormCase(x: readonly number[], training: boolean): LayerCase {
  const features = x[1] as number;
  const layer = layers.batchNorm({ features, epsilon: 1e-2 });
  const vector = [features];
  return {
    name: `batchNorm of ${x.length} axes${training ? ' in training' : ''}`,
    shapes: { x, weight: vector, bias: vector, ...(!training && { mean: vector, root: vector }) },
    run: (t) => {
      const state = training
        ? undefined
        : { runningMean: get(t, 'mean'), runningVar: get(t, 'root').square() as unknown as Tensor };
      return layer.apply(weightsOf(t), get(t, 'x'), { training, state });
    },
    reference: (a) => {
      const normal = training
        ? standardised(get(a, 'x'), (index) => String(index[1]), 1e-2)
        : plain(x, (index) => {
            const c = index[1] as number;
            const deviation = Math.sqrt(at(get(a, 'root'), c) ** 2 + 1e-2);
            return (at(get(a, 'x'), ...index) - at(get(a, 'mean'), c)) / deviation;
          });
      return plain(x, (index) => {
        const c = index[1] as number;
        return at(normal, ...index) * at(get(a, 'weight'), c) + at(get(a, 'bias'), c);
      });
    },
  };
}

/** What one row gives: weights of a softmax times values. */
function attended(
  count: number,
  scoreOf: (j: number) => number | undefined,
  valueOf: (j: number) => number,
): number {
  const scores = Array.from({ length: count }, (_, j) => scoreOf(j) ?? -Infinity);
  const top = Math.max(...scores);
  const weights = scores.map((one) => Math.exp(one - top));
  const total = weights.reduce((a, b) => a + b, 0);
  return sumOf(count, (j) => ((weights[j] as number) * valueOf(j)) / total);
}

/** Numbers that are added to the scores of queries and keys, or of keys alone where there is one row of them. */
function addedCase(rowsOfMask: number): LayerCase {
  const [batch, heads, rows, others, features] = [2, 3, 4, 5, 2];
  return {
    name: `attention with ${rowsOfMask === 1 ? 'a number for each key' : 'a matrix'} that is added`,
    shapes: {
      q: [batch, heads, rows, features],
      k: [batch, heads, others, features],
      v: [batch, heads, others, features],
      m: [batch, 1, rowsOfMask, others],
    },
    run: (t) => functional.attention(get(t, 'q'), get(t, 'k'), get(t, 'v'), { mask: get(t, 'm') }),
    reference: (a) =>
      plain([batch, heads, rows, features], ([b = 0, h = 0, i = 0, c = 0]) =>
        attended(
          others,
          (j) =>
            at(get(a, 'm'), b, 0, rowsOfMask === 1 ? 0 : i, j) +
            sumOf(features, (f) => at(get(a, 'q'), b, h, i, f) * at(get(a, 'k'), b, h, j, f)) /
              Math.sqrt(features),
          (j) => at(get(a, 'v'), b, h, j, c),
        ),
      ),
  };
}

function attentionCase(causal: boolean): LayerCase {
  const [batch, heads, rows, others, features, columns] = [2, 3, 4, causal ? 4 : 5, 2, 3];
  return {
    name: `attention, ${causal ? 'causal' : 'scaled, with heads that share keys'}`,
    shapes: {
      q: [batch, heads, rows, features],
      k: [batch, causal ? heads : 1, others, features],
      v: [batch, heads, others, columns],
    },
    run: (t) =>
      functional.attention(
        get(t, 'q'),
        get(t, 'k'),
        get(t, 'v'),
        causal ? { causal } : { scale: 0.3 },
      ),
    reference: (a) =>
      plain([batch, heads, rows, columns], ([b = 0, h = 0, i = 0, c = 0]) =>
        attended(
          others,
          (j) =>
            causal && j > i
              ? undefined
              : sumOf(
                  features,
                  (f) => at(get(a, 'q'), b, h, i, f) * at(get(a, 'k'), b, causal ? h : 0, j, f),
                ) * (causal ? 1 / Math.sqrt(features) : 0.3),
          (j) => at(get(a, 'v'), b, h, j, c),
        ),
      ),
  };
}

function multiHeadCase(): LayerCase {
  const [batch, rows, features, heads] = [2, 3, 4, 2];
  const own = features / heads;
  const layer = layers.multiHeadAttention({ features, heads, causal: true });
  return {
    name: 'multiHeadAttention',
    shapes: {
      x: [batch, rows, features],
      w: [3 * features, features],
      b: [3 * features],
      ow: [features, features],
      ob: [features],
    },
    run: (t) =>
      layer.apply(
        {
          inProjWeight: get(t, 'w'),
          inProjBias: get(t, 'b'),
          outProj: { weight: get(t, 'ow'), bias: get(t, 'ob') },
        },
        get(t, 'x'),
      ),
    reference: (a) => {
      const projected = plain(
        [batch, rows, 3 * features],
        ([n = 0, i = 0, o = 0]) =>
          at(get(a, 'b'), o) +
          sumOf(features, (f) => at(get(a, 'x'), n, i, f) * at(get(a, 'w'), o, f)),
      );
      const mixed = plain([batch, rows, features], ([n = 0, i = 0, c = 0]) => {
        const head = Math.floor(c / own) * own;
        return attended(
          rows,
          (j) =>
            j > i
              ? undefined
              : sumOf(
                  own,
                  (f) => at(projected, n, i, head + f) * at(projected, n, j, features + head + f),
                ) / Math.sqrt(own),
          (j) => at(projected, n, j, 2 * features + c),
        );
      });
      return plain(
        [batch, rows, features],
        ([n = 0, i = 0, o = 0]) =>
          at(get(a, 'ob'), o) + sumOf(features, (f) => at(mixed, n, i, f) * at(get(a, 'ow'), o, f)),
      );
    },
  };
}

function poolCase(
  kind: 'max' | 'average',
  x: readonly number[],
  options: Parameters<typeof layers.maxPool2d>[0],
): LayerCase {
  const layer = kind === 'max' ? layers.maxPool2d(options) : layers.averagePool2d(options);
  const kernel = options.kernel as number;
  const stride = (options.stride as number | undefined) ?? kernel;
  const padding = (options.padding as number | undefined) ?? 0;
  const [n, c, h = 0, w = 0] = x;
  const places = [h, w].map((extent) => Math.floor((extent + 2 * padding - kernel) / stride) + 1);
  return {
    name: `${kind}Pool2d, kernel ${kernel}, stride ${stride}, padding ${padding}`,
    shapes: { x },
    run: (t) => layer.apply({}, get(t, 'x')),
    reference: (a) =>
      plain([n as number, c as number, ...places], ([b = 0, f = 0, i = 0, j = 0]) => {
        const seen: number[] = [];
        each([kernel, kernel], ([p = 0, q = 0]) => {
          const [row, column] = [i * stride - padding + p, j * stride - padding + q];
          const isInside = row >= 0 && row < h && column >= 0 && column < w;
          if (isInside) seen.push(at(get(a, 'x'), b, f, row, column));
        });
        return kind === 'max'
          ? Math.max(...seen)
          : seen.reduce((s, one) => s + one, 0) / kernel ** 2;
      }),
  };
}

function elementCase(name: string, layer: layers.Layer, f: (x: number) => number): LayerCase {
  return {
    name,
    shapes: { x: [3, 5] },
    run: (t) => layer.apply({}, get(t, 'x')),
    reference: (a) => plain([3, 5], (index) => f(at(get(a, 'x'), ...index))),
  };
}

export const LAYER_CASES: readonly LayerCase[] = [
  linearCase('a batch', [5, 3], 4),
  linearCase('a batch of one, without a bias', [1, 7], 2, false),
  linearCase('sequences', [2, 3, 4], 5),
  linearCase('one example', [4], 3),
  conv1dCase(),
  conv2dCase('of odd shapes', [2, 3, 5, 7], 4, [3, 2]),
  conv2dCase('padded, a batch of one', [1, 2, 4, 3], 3, [3, 3], { padding: [1, 1] }),
  conv2dCase('with everything', [2, 4, 6, 5], 6, [2, 3], {
    stride: [2, 1],
    padding: [1, 2],
    dilation: [2, 1],
    groups: 2,
  }),
  conv2dCase('a channel each, without a bias', [2, 3, 4, 4], 3, [2, 2], { groups: 3, bias: false }),
  conv2dCase('of single elements', [2, 3, 2, 3], 2, [1, 1]),
  conv2dCase('that leaves elements out', [1, 1, 7, 8], 2, [2, 2], { stride: [3, 3] }),
  layerNormCase([4, 5], [5]),
  layerNormCase([2, 3, 4], [3, 4]),
  layerNormCase([3, 4], [4], false),
  batchNormCase([5, 3], true),
  batchNormCase([2, 3, 2, 2], true),
  batchNormCase([2, 3, 4], false),
  attentionCase(false),
  attentionCase(true),
  addedCase(4),
  addedCase(1),
  multiHeadCase(),
  poolCase('max', [2, 3, 6, 5], { kernel: 2 }),
  poolCase('max', [1, 2, 5, 5], { kernel: 3, stride: 2, padding: 1 }),
  poolCase('average', [2, 3, 6, 5], { kernel: 2 }),
  poolCase('average', [1, 2, 5, 4], { kernel: 3, stride: 1, padding: 1 }),
  elementCase('silu', layers.silu(), (x) => x / (1 + Math.exp(-x))),
  elementCase('sigmoid', layers.sigmoid(), (x) => 1 / (1 + Math.exp(-x))),
  elementCase('tanh', layers.tanh(), Math.tanh),
  elementCase('softplus', layers.softplus(), (x) => Math.log1p(Math.exp(x))),
  elementCase('relu', layers.relu(), (x) => Math.max(0, x)),
];
