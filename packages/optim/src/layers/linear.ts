import type { OptionNames } from '@mercer/options';
import { random, type Tensor } from '@mercer/tensor';
import { formatShape, readOptions, sizeOfShape, type KnownValue } from '@mercer/tensor/operation';
import { checkCount, checkFlag } from '../checks.js';
import { initialiserOr, withinFanIn, type Initialiser } from './initialiser.js';
import {
  checkTensor,
  howOf,
  labelOf,
  layerOperation,
  product,
  shapeError,
} from './layer-operation.js';
import { readContext, readPlacement, type Layer } from './layer.js';

/** The function of a linear layer, `x weightᵀ + bias`: x (.., inputs), weight (outputs, inputs), bias (outputs), result (.., outputs). */
export const linearFunction = layerOperation(
  'linear',
  (x: KnownValue, weight: KnownValue, bias?: KnownValue) => {
    checkTensor(x, 'linear: x');
    checkTensor(weight, 'linear: weight');
    const [outputs, inputs] = weight.shape;
    if (weight.shape.length !== 2 || outputs === undefined || inputs === undefined)
      throw shapeError(`linear: weight is ${labelOf(weight)}. Pass (outputs, inputs).`);
    if (x.shape.at(-1) !== inputs) {
      throw shapeError(
        `linear: x is ${labelOf(x)} and weight ${labelOf(weight)}: the last axis of x has to have ${inputs} elements, as the weight has inputs.`,
      );
    }
    const lead = x.shape.slice(0, -1);
    // one product of two matrices, whose gradient is one too
    const rows = lead.length === 1 ? x : x.contiguous().reshape([sizeOfShape(lead), inputs]);
    const flat = product(rows, weight, { transposeB: true, ...howOf(x, weight) });
    const y = lead.length === 1 ? flat : flat.reshape([...lead, outputs]);
    if (bias === undefined) return y;
    checkTensor(bias, 'linear: bias');
    if (bias.shape.length !== 1 || bias.shape[0] !== outputs) {
      throw shapeError(
        `linear: bias is ${labelOf(bias)} and weight ${labelOf(weight)}. Pass a bias of shape ${formatShape([outputs])}.`,
      );
    }
    return y.add(bias);
  },
);

/** Options of {@link linear}. */
export interface LinearOptions {
  /** Numbers of each input. */
  readonly inputs: number;
  /** Numbers of each output. */
  readonly outputs: number;
  /** Whether a bias is added. Default: true. */
  readonly bias?: boolean | undefined;
  /** Default: uniform within `1 / sqrt(inputs)`, as torch's. */
  readonly weightInit?: Initialiser | undefined;
  /** Default: the same. */
  readonly biasInit?: Initialiser | undefined;
}

const LINEAR: OptionNames<LinearOptions> = {
  inputs: true,
  outputs: true,
  bias: true,
  weightInit: true,
  biasInit: true,
};

/** A weight, and a bias where the layer has one. */

export type Weights = {
  readonly weight: Tensor;
  readonly bias?: Tensor;
};

/**
 * A linear layer: `x weightᵀ + bias`.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.linear({ inputs: 3, outputs: 2 });
 * const params = await layer.init(random.key(1), where);
 * const y = await layer.apply(params, await tensor([[1, 2, 3]], where));
 * console.log(params.weight.shape, y.shape); // [ 2, 3 ] [ 1, 2 ]
 * ```
 *
 * x (.., inputs), result (.., outputs). weight (outputs, inputs), bias (outputs).
 *
 * @throws MercerError INVALID_ARGUMENT; of apply SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function linear(options: LinearOptions): Layer<Weights> {
  const what = 'linear';
  const given = readOptions(what, options, LINEAR);
  const inputs = checkCount(given.inputs, what, 'inputs');
  const outputs = checkCount(given.outputs, what, 'outputs');
  const weightInit = initialiserOr(`${what}: weightInit`, given.weightInit, withinFanIn(inputs));
  const biasInit = initialiserOr(`${what}: biasInit`, given.biasInit, withinFanIn(inputs));
  const hasBias = checkFlag(given.bias ?? true, what, 'bias');
  return {
    name: what,
    init: weightsMaker(what, [outputs, inputs], hasBias, { weightInit, biasInit }),
    apply: ({ weight, bias }, x, context) => {
      readContext(what, context);
      return linearFunction(x, weight, bias);
    },
  };
}

/** Makes a weight (outputs, ..) and a bias (outputs), each by a key of its own. */
export const weightsMaker =
  (
    what: string,
    shape: readonly number[],
    hasBias: boolean,
    { weightInit, biasInit }: Readonly<Record<'weightInit' | 'biasInit', Initialiser>>,
  ): Layer<Weights>['init'] =>
  async (key, placement) => {
    const where = readPlacement(what, placement);
    const [forWeight, forBias] = random.split(key);
    const weight = await weightInit(forWeight, shape, where);
    if (!hasBias) return { weight };
    return { weight, bias: await biasInit(forBias, shape.slice(0, 1), where) };
  };
