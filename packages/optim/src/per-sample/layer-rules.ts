import { MercerError, scatterAdd, stack, type Operand, type Tensor } from '@mercer/tensor';
import { sizeOfShape, type Value } from '@mercer/tensor/operation';
import { whitened, type BatchNormCall } from '../layers/batch-norm.js';
import { convolutionShapes, type Moves } from '../layers/convolution.js';
import { product } from '../layers/layer-operation.js';
import { lastAxes, normalised, type NormCall } from '../layers/layer-norm.js';
import { windowed } from '../layers/windows.js';
import type { LayerName } from '../statistics/observed.js';

/** What one parameter of a layer gets from each example. */
export interface ParameterRule {
  /** (N, ..shape of the parameter) */
  readonly gradient: () => Value;
  /** (N): the squares of the norms, where they take less memory than the gradients. */
  readonly squaredNorm?: () => Value;
}

/**
 * Gradients of each example from one backward pass over all: the rules of a layer for its weight (argument 1) and bias (argument 2).
 *
 * @param args the arguments of the layer's function, whose first has the N examples along axis 0
 * @param cotangent by its output, each example's of its own loss: (N, ..)
 * @param numbers of the examples: (N), int64
 */
export type LayerRule = (
  args: readonly unknown[],
  cotangent: Tensor,
  numbers: Tensor,
) => Readonly<Record<1, ParameterRule> & Partial<Record<2, ParameterRule>>>;

/** Floats of 16 bits are computed with as float32. */
const wide = (x: Tensor): Value =>
  x.dtype === 'float32' || x.dtype === 'float64' ? x : x.cast('float32');

const rows = (x: Tensor, shape: readonly number[]): Value => wide(x).contiguous().reshape(shape);

const axesBetween = (start: number, stop: number): number[] =>
  Array.from({ length: Math.max(0, stop - start) }, (_, k) => start + k);

/** The sum over some axes, which may be none. */
const summed = (x: Value, axes: number[]): Value => (axes.length === 0 ? x : x.sum(axes));

/** The sums of the products of elements, for each example. */
const inner = (a: Value, b: Value, rank: number): Value => a.mul(b).sum(axesBetween(1, rank));

/**
 * The weight of a linear layer with T positions in each example: its gradient is the sum of `cotangent_t x_tᵀ` over them, whose squared norm is the sum of the products of the T x T matrices
 * `cotangent cotangentᵀ` and `x xᵀ` ("ghost norm": Li et al. 2022, arXiv 2110.05679).
 */
const linear: LayerRule = ([x, weight], cotangent) => {
  const [outputs = 0, inputs = 0] = (weight as Tensor).shape;
  const given = x as Tensor;
  const [examples = 0] = given.shape;
  const positions = sizeOfShape(given.shape.slice(1, -1));
  const a = (): Value => rows(given, [examples, positions, inputs]);
  const d = (): Value => rows(cotangent, [examples, positions, outputs]);
  const bias = { gradient: () => d().sum(1) };
  if (positions === 1) {
    const column = (): Value => rows(cotangent, [examples, outputs, 1]);
    return {
      1: {
        gradient: () => column().mul(a()),
        squaredNorm: () =>
          d()
            .square()
            .sum([1, 2])
            .mul(a().square().sum([1, 2])),
      },
      2: bias,
    };
  }
  const gram = (one: Value): Value => product(one, one, { transposeB: true });
  return {
    1: {
      gradient: () => product(d(), a(), { transposeA: true }),
      ...(positions ** 2 <= outputs * inputs && {
        squaredNorm: () => inner(gram(d()), gram(a()), 3),
      }),
    },
    2: bias,
  };
};

/** The weight of a convolution: as that of a linear layer of the patches, with the places as positions. */
const convolution =
  (what: string): LayerRule =>
  ([x, weight, , moves], cotangent) => {
    const given = x as Tensor;
    const [own, { groups }] = [weight as Tensor, moves as Moves];
    const { window, places, outputs } = convolutionShapes(what, [
      given,
      own,
      undefined,
      moves as Moves,
    ]);
    const [examples = 0, channels = 0] = given.shape;
    const positions = sizeOfShape(places);
    const columns = (channels / groups) * sizeOfShape(window.kernel);
    const patches = (): Value =>
      stack(windowed(wide(given), 2, window, places) as Tensor[], 2).reshape([
        examples,
        groups,
        columns,
        positions,
      ]);
    const d = (): Value => rows(cotangent, [examples, groups, outputs / groups, positions]);
    const gram = (one: Value): Value => product(one, one, { transposeA: true });
    return {
      1: {
        gradient: () =>
          product(d(), patches(), { transposeB: true }).reshape([examples, ...own.shape]),
        ...(positions ** 2 <= (outputs / groups) * columns && {
          squaredNorm: () => inner(gram(d()), gram(patches()), 4),
        }),
      },
      2: {
        gradient: () => rows(cotangent, [examples, outputs, positions]).sum(2),
      },
    };
  };

/** Weight and bias of a norm, whose gradients are sums over the axes that they lack. */
const scales = (cotangent: Tensor, normal: () => Value, axes: number[]): ReturnType<LayerRule> => ({
  1: { gradient: () => summed(wide(cotangent).mul(normal()), axes) },
  2: { gradient: () => summed(wide(cotangent), axes) },
});

const layerNorm: LayerRule = ([x, , , call], cotangent) => {
  const { shape, epsilon } = call as NormCall;
  const given = x as Tensor;
  const normal = (): Value => normalised(wide(given), lastAxes(given, shape.length), epsilon);
  return scales(cotangent, normal, axesBetween(1, given.shape.length - shape.length));
};

const batchNorm: LayerRule = ([x, , , state, call], cotangent) => {
  const given = x as Tensor;
  const normal = (): Value =>
    whitened(given, state as Parameters<typeof whitened>[1], call as BatchNormCall);
  return scales(cotangent, normal, axesBetween(2, given.shape.length));
};

/** The weight of an embedding: rows of the cotangent, added up in the example's own table. */
const embedding: LayerRule = ([indices, weight], cotangent, numbers) => {
  const [entries = 0, features = 0] = (weight as Tensor).shape;
  const given = indices as Tensor<'int32' | 'int64'>;
  const [examples = 0] = given.shape;
  const positions = sizeOfShape(given.shape.slice(1));
  const d = (): Value => rows(cotangent, [examples, positions, features]);
  // what is outside has no row
  const known = (): Value => {
    const at = given.contiguous().reshape([examples, positions]).cast('int64');
    return at.ge(0).logicalAnd(at.lt(entries)).where(at, -1);
  };
  return {
    1: {
      gradient: () => {
        const at = known();
        const first = numbers.mul(entries).reshape([examples, 1]);
        const own = at.lt(0).where(-1, at.add(first as Operand));
        const index = own.reshape([examples * positions]) as unknown as Tensor<'int64'>;
        const given = d().reshape([examples * positions, features]) as unknown as Tensor<'float32'>;
        return scatterAdd(given, index, examples * entries).reshape([examples, entries, features]);
      },
      ...(positions ** 2 <= entries * features && {
        squaredNorm: () => {
          const at = known();
          const meet = at
            .reshape([examples, positions, 1])
            .eq(at.reshape([examples, 1, positions]))
            .logicalAnd(at.ge(0).reshape([examples, positions, 1]));
          return meet.where(product(d(), d(), { transposeB: true }), 0).sum([1, 2]);
        },
      }),
    },
  };
};

/** By the names of layers. */
export const LAYER_RULES: Readonly<Record<LayerName, LayerRule>> = {
  linear,
  conv1d: convolution('conv1d'),
  conv2d: convolution('conv2d'),
  embedding,
  layerNorm,
  batchNorm,
  'batchNorm in training': () => {
    throw new MercerError(
      'UNSUPPORTED',
      'perSampleGradients: batchNorm in training makes each loss depend on all examples, so that there is no gradient of one. Call it without training, or use layerNorm.',
    );
  },
};
