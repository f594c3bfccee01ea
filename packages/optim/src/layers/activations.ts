import { describeValue } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { sizeOfShape, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkTensor, labelOf, layerOperation, shapeError } from './layer-operation.js';
import { readContext, type Layer, type NoParams } from './layer.js';

/**
 * A function without parameters as a layer.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 *
 * const model = layers.sequential([layers.linear({ inputs: 2, outputs: 3 }), layers.activation('square', (x) => x.square())]);
 * console.log(model.name); // sequential
 * ```
 */
export function activation(name: string, f: (x: Value) => Value): Layer {
  if (typeof f !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `activation: expected a function of a tensor, got ${describeValue(f)}. Pass a name and a function.`,
    );
  }
  return {
    name,
    init: async () => Promise.resolve<NoParams>({}),
    apply: (_params, x, context) => {
      readContext(name, context);
      return f(x);
    },
  };
}

/** `max(x, 0)` */
export const relu = (): Layer => activation('relu', (x) => x.relu());

/** `x Phi(x)`, Phi being the distribution function of the normal distribution. */
export const gelu = (): Layer => activation('gelu', (x) => x.gelu());

/** `x sigmoid(x)` */
export const silu = (): Layer => activation('silu', (x) => x.mul(x.sigmoid()));

/** `1 / (1 + exp(-x))` */
export const sigmoid = (): Layer => activation('sigmoid', (x) => x.sigmoid());

/** The hyperbolic tangent. */
export const tanh = (): Layer => activation('tanh', (x) => x.tanh());

/** `log(1 + exp(x))` */
export const softplus = (): Layer => activation('softplus', (x) => x.softplus());

/** `exp(x)` by their sum along an axis. Default: the last. */
export const softmax = (axis = -1): Layer => activation('softmax', (x) => x.softmax(axis));

const flattened = layerOperation('flatten', (x: KnownValue): Value => {
  checkTensor(x, 'flatten: x');
  const [examples, ...rest] = x.shape;
  if (examples === undefined)
    throw shapeError(`flatten: x is ${labelOf(x)}. Pass (N, ..), with examples along axis 0.`);
  return x.contiguous().reshape([examples, sizeOfShape(rest)]);
});

/** (N, ..) as (N, numbers of an example). */
export const flatten = (): Layer => activation('flatten', flattened);
