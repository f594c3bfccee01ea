import type { OptionNames } from '@mercer/options';
import { MercerError, random, type Tensor } from '@mercer/tensor';
import { lazyI, lazyJ, lazyPair, rowNumberI, rowNumberJ, type LazyTensor } from '@mercer/lazy';
import { isKnownResult, readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkFlag } from '../checks.js';
import { initialiserOr, withinFanIn, type Initialiser } from './initialiser.js';
import { xavierUniform, zeros } from './initialisers.js';
import { checkTensor, inSteps, labelOf, layerOperation, shapeError } from './layer-operation.js';
import { linearFunction, type Weights } from './linear.js';
import { readContext, readPlacement, type Layer } from './layer.js';

/** Options of attention, alone and in a layer. */
interface ScoresOptions {
  /** Whether a row sees no rows behind its own number. Default: false. */
  readonly causal?: boolean | undefined;
  /** A factor of the products of queries and keys. Default: `1 / sqrt(features)`. */
  readonly scale?: number | undefined;
}

const SCORES: OptionNames<ScoresOptions> = { causal: true, scale: true };

/** Options of {@link attention}. */
export interface AttentionOptions extends ScoresOptions {
  /**
   * Which keys a query sees, or what is added to their scores: (.., M, N), or (.., 1, N) of the same for all queries, as of padding, whose batch axes broadcast. bool: true where a key is seen. Of floating numbers: they are added
   * to the scaled products, -Infinity where a key is not seen, and have gradients. A query that sees no key gets NaN. Default: every key is seen.
   */
  readonly mask?: Value | undefined;
}

const ATTENTION: OptionNames<AttentionOptions> = { ...SCORES, mask: true };

const HALF_OR_SINGLE: readonly string[] = ['float16', 'bfloat16', 'float32'];

/** A mask as a symbolic matrix: one number for each key where all queries have the same. @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH */
async function maskOf(
  mask: KnownValue,
  queries: KnownValue,
  keys: KnownValue,
): Promise<LazyTensor> {
  checkTensor(mask, 'attention: mask');
  const [rows, columns] = [queries.shape.at(-2) ?? 0, keys.shape.at(-2) ?? 0];
  const [own, others] = [mask.shape.at(-2), mask.shape.at(-1)];
  if (own === undefined || (own !== rows && own !== 1) || others !== columns) {
    throw shapeError(
      `attention: mask is ${labelOf(mask)}, for ${rows} queries and ${columns} keys. Pass (.., ${rows}, ${columns}) or (.., 1, ${columns}); reshape gives one of padding that axis.`,
    );
  }
  const dtype = queries.dtype === 'float64' ? 'float64' : 'float32';
  const isSame =
    mask.dtype === dtype || (dtype === 'float32' && HALF_OR_SINGLE.includes(mask.dtype));
  if (mask.dtype !== 'bool' && !isSame) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `attention: mask is ${labelOf(mask)} beside ${queries.dtype}. Pass bool, true where a key is seen, or ${dtype} that is added to the scores.`,
    );
  }
  const numbers = await launched(mask.dtype === 'bool' ? (mask.cast(dtype) as KnownValue) : mask);
  if (own !== 1 || rows === 1) return lazyPair(numbers);
  const column = await launched(numbers.reshape([...numbers.shape.slice(0, -2), columns, 1]));
  return lazyJ(column);
}

/** A value as a tensor: a result of which only the shape is known is waited for. */
const launched = async (x: KnownValue): Promise<Tensor<'float32'>> =>
  (isKnownResult(x) ? await (x as PromiseLike<unknown>) : x) as Tensor<'float32'>;

const attending = layerOperation(
  'attention',
  async (
    queries: KnownValue,
    keys: KnownValue,
    values: KnownValue,
    mask: KnownValue | undefined,
    causal: boolean,
    scale: number | undefined,
  ): Promise<Tensor> => {
    const given = { queries, keys, values };
    for (const [name, one] of Object.entries(given)) {
      checkTensor(one, `attention: ${name}`);
      if (one.shape.length < 2)
        throw shapeError(`attention: ${name} is ${labelOf(one)}. Pass (.., rows, features).`);
    }
    const features = queries.shape.at(-1) ?? 0;
    if (keys.shape.at(-1) !== features || keys.shape.at(-2) !== values.shape.at(-2)) {
      throw shapeError(
        `attention: queries are ${labelOf(queries)}, keys ${labelOf(keys)} and values ${labelOf(values)}. Queries and keys have to have the same features, keys and values the same rows.`,
      );
    }
    // symbolic matrices are made of tensors that are there
    const [q, k, v] = [await launched(queries), await launched(keys), await launched(values)];
    const products = lazyI(q)
      .dot(lazyJ(k))
      .mul(scale ?? 1 / Math.sqrt(features));
    const own = mask === undefined ? undefined : await maskOf(mask, queries, keys);
    const scores =
      own === undefined
        ? products
        : mask?.dtype === 'bool'
          ? own.gt(0).where(products, -Infinity)
          : products.add(own);
    const seen = causal ? rowNumberI().ge(rowNumberJ()).where(scores, -Infinity) : scores;
    return await seen.sumSoftMaxWeight(lazyJ(v), 'j');
  },
);

/**
 * Scaled dot-product attention (Vaswani et al. 2017, arXiv 1706.03762): `softmax(scale queries keysᵀ) values` as one reduction over the keys. The matrix of scores is
 * never stored, nor in its gradients of any order.
 *
 * @param queries (.., M, features)
 * @param keys (.., N, features)
 * @param values (.., N, columns)
 * @returns (.., M, columns); batch axes, such as heads, broadcast
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function attention(
  queries: Value,
  keys: Value,
  values: Value,
  options?: AttentionOptions,
): Value {
  const { causal = false, scale, mask } = readOptions('attention', options, ATTENTION);
  checkFlag(causal, 'attention', 'causal');
  if (scale !== undefined) checkNumber(scale, 'attention', 'scale', -Number.MAX_VALUE);
  return attending(queries, keys, values, mask, causal, scale);
}

/** Options of {@link multiHeadAttention}. */
export interface MultiHeadAttentionOptions extends ScoresOptions {
  /** Numbers of each row. */
  readonly features: number;
  /** Into how many heads they are cut; it divides the features. */
  readonly heads: number;
  /** Whether the projections have biases. Default: true. */
  readonly bias?: boolean | undefined;
  /** Of the projections to queries, keys and values. Default: Xavier's uniform. */
  readonly weightInit?: Initialiser | undefined;
}

const MULTI_HEAD: OptionNames<MultiHeadAttentionOptions> = {
  ...SCORES,
  features: true,
  heads: true,
  bias: true,
  weightInit: true,
};

/** Parameters of {@link multiHeadAttention}. */
export type AttentionParams = {
  /** (3 features, features): queries, keys and values one behind the other, as in torch. */
  readonly inProjWeight: Tensor;
  /** (3 features) */
  readonly inProjBias?: Tensor;
  /** (features, features) and (features). */
  readonly outProj: Weights;
};

/**
 * Self-attention with several heads: x (.., N, features), result the same. Rows are projected to queries, keys and values, each head attends with its part of the features, and what the heads give is projected
 * again. Scores are never stored: see {@link attention}. Its mask, (.., 1, N) or (.., N, N) and the same for all heads, comes with the context: `layer.apply(params, x, { mask })`.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.multiHeadAttention({ features: 8, heads: 2, causal: true });
 * const params = await layer.init(random.key(1), where);
 * const x = await random.normal([5, 7, 8], { key: random.key(2), ...where });
 * console.log((await layer.apply(params, x)).shape); // [ 5, 7, 8 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; of apply SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function multiHeadAttention(options: MultiHeadAttentionOptions): Layer<AttentionParams> {
  const what = 'multiHeadAttention';
  const given = readOptions(what, options, MULTI_HEAD);
  const features = checkCount(given.features, what, 'features');
  const heads = checkCount(given.heads, what, 'heads');
  if (features % heads !== 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${features} features are no multiple of ${heads} heads. Choose heads that divide them.`,
    );
  }
  const causal = checkFlag(given.causal ?? false, what, 'causal');
  const scale =
    given.scale === undefined
      ? undefined
      : checkNumber(given.scale, what, 'scale', -Number.MAX_VALUE);
  const hasBias = checkFlag(given.bias ?? true, what, 'bias');
  const weightInit = initialiserOr(`${what}: weightInit`, given.weightInit, xavierUniform());
  const run = inSteps(
    what,
    ({ inProjWeight, inProjBias, outProj }: AttentionParams, x: Value, mask?: Value) => {
      const projected = linearFunction(x, inProjWeight, inProjBias);
      const attended = ofHeads(projected, mask, features, heads, causal, scale);
      return { y: linearFunction(attended, outProj.weight, outProj.bias) };
    },
    ({ y }) => y,
  );
  return {
    name: what,
    init: async (key, placement) => {
      const where = readPlacement(what, placement);
      const [forIn, forOut] = random.split(key);
      const square = [features, features];
      const outWeight = await withinFanIn(features)(forOut, square, where);
      return {
        inProjWeight: await weightInit(forIn, [3 * features, features], where),
        ...(hasBias && { inProjBias: await zeros()(forIn, [3 * features], where) }),
        outProj: {
          weight: outWeight,
          ...(hasBias && { bias: await zeros()(forOut, [features], where) }),
        },
      };
    },
    apply: (params, x, context) => run(params, x, readContext(what, context).mask),
  };
}

/** A mask with an axis of heads behind its batch axes, of extent 1. A mask of more axes than x has one already. @param rank how many axes x has */
function forHeads(mask: KnownValue, rank: number): Value {
  const { shape } = mask;
  if (shape.length < 3 || shape.length > rank) return mask;
  return mask.contiguous().reshape([...shape.slice(0, -2), 1, ...shape.slice(-2)]);
}

/** What the heads give, side by side, of queries, keys and values side by side. */
const ofHeads = layerOperation(
  'multiHeadAttention',
  (
    projected: KnownValue,
    mask: KnownValue | undefined,
    features: number,
    heads: number,
    causal: boolean,
    scale: number | undefined,
  ): Value => {
    if (projected.shape.length < 2)
      throw shapeError(`multiHeadAttention: x is no sequence of rows. Pass (.., N, features).`);
    const lead = projected.shape.slice(0, -1);
    const rank = lead.length;
    const axes = Array.from({ length: rank - 1 }, (_, axis) => axis);
    const split = projected.contiguous().reshape([...lead, 3, heads, features / heads]);
    // (3, .., heads, N, features of a head)
    const turned = split.permute([rank, ...axes, rank + 1, rank - 1, rank + 2]);
    const parts = [0, 1, 2].map((at) => turned.slice(at)) as [Value, Value, Value];
    const given = attention(...parts, { causal, scale, mask: mask && forHeads(mask, rank + 1) });
    return given
      .permute([...axes, rank, rank - 1, rank + 1])
      .contiguous()
      .reshape([...lead, features]);
  },
);
