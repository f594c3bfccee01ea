import type { OptionNames } from '@mercer/options';
import { type Tensor } from '@mercer/tensor';
import { readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkCount } from '../checks.js';
import { initialiserOr, standardNormal, type Initialiser } from './initialiser.js';
import { checkTensor, checkWhole, labelOf, layerOperation, shapeError } from './layer-operation.js';
import { readContext, readPlacement, type Layer } from './layer.js';

/** The function of {@link embedding}: indices (..), whole numbers, weight (entries, features), result (.., features). */
export const embeddingFunction = layerOperation(
  'embedding',
  (indices: KnownValue, weight: KnownValue): Value => {
    checkTensor(indices, 'embedding: indices');
    checkTensor(weight, 'embedding: weight');
    checkWhole(indices, 'embedding: indices');
    if (weight.shape.length !== 2)
      throw shapeError(`embedding: weight is ${labelOf(weight)}. Pass (entries, features).`);
    // a negative number would be counted from the end
    const [entries = 0] = weight.shape;
    const rows = indices.lt(0).where(entries, indices);
    return weight.take(rows as unknown as Tensor<'int32'>, 0);
  },
);

/** Options of {@link embedding}. */
export interface EmbeddingOptions {
  /** How many vectors there are. */
  readonly entries: number;
  /** Numbers of each vector. */
  readonly features: number;
  /** Default: normal numbers of deviation 1. */
  readonly weightInit?: Initialiser | undefined;
}

const EMBEDDING: OptionNames<EmbeddingOptions> = {
  entries: true,
  features: true,
  weightInit: true,
};

/**
 * Vectors by number: the rows of a weight (entries, features). The input is int32 or int64 of any shape (..), the result (.., features). A number without a row, a negative one too, gives NaN.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.embedding({ entries: 10, features: 4 });
 * const params = await layer.init(random.key(1), where);
 * const y = await layer.apply(params, await tensor(Int32Array.of(3, 1, 3), where));
 * console.log(y.shape); // [ 3, 4 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; of apply DTYPE_MISMATCH, SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function embedding(options: EmbeddingOptions): Layer<{ readonly weight: Tensor }> {
  const what = 'embedding';
  const given = readOptions(what, options, EMBEDDING);
  const entries = checkCount(given.entries, what, 'entries');
  const features = checkCount(given.features, what, 'features');
  const weightInit = initialiserOr(`${what}: weightInit`, given.weightInit, standardNormal);
  return {
    name: what,
    init: async (key, placement) => ({
      weight: await weightInit(key, [entries, features], readPlacement(what, placement)),
    }),
    apply: ({ weight }, indices, context) => {
      readContext(what, context);
      return embeddingFunction(indices, weight);
    },
  };
}
