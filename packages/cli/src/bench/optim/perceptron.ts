import {
  layers,
  losses,
  random,
  tensor,
  type Device,
  type Pending,
  type Tensor,
} from '@mercer/core';
import { hashedNumbers } from '../autodiff/hashed-numbers.js';

/** By layer and kind. */
export type Parameters = Readonly<Record<string, Readonly<Record<'weight' | 'bias', Tensor>>>>;

/** A perceptron with rectified hidden units, and examples for it. */
export interface Perceptron {
  readonly params: Parameters;
  /** The mean cross entropy. */
  readonly loss: (params: Parameters, inputs: Tensor, labels: Tensor) => Tensor | Pending<Tensor>;
  readonly inputs: Tensor;
  readonly labels: Tensor;
}

/** @param widths of the inputs, the hidden layers and the classes */
export async function perceptronOf(
  device: Device,
  widths: readonly number[],
  batch: number,
): Promise<Perceptron> {
  const named: Record<string, layers.Layer> = {};
  for (const [k, inputs] of widths.slice(0, -1).entries()) {
    if (k > 0) named[`relu${k}`] = layers.relu();
    named[`linear${k}`] = layers.linear({ inputs, outputs: widths[k + 1] ?? 1 });
  }
  const network = layers.sequential(named);
  const [pixels = 1, classes = 1] = [widths[0], widths.at(-1)];
  return {
    params: (await network.init(random.key(1), { device })) as unknown as Parameters,
    loss: (params, x, wanted) => losses.crossEntropy(network.apply(params, x), wanted),
    inputs: await tensor(hashedNumbers(batch * pixels, 30, [0, 1]), {
      shape: [batch, pixels],
      device,
    }),
    labels: await tensor(
      Int32Array.from({ length: batch }, (_, row) => (7 * row) % classes),
      { device },
    ),
  };
}

/** All tensors of the layers. */
export const tensorsOf = (params: Parameters): Tensor[] =>
  Object.values(params).flatMap((one) => Object.values(one));

/** Elements of all parameters. */
export const sizeOf = (params: Parameters): number =>
  tensorsOf(params).reduce((sum, { size }) => sum + size, 0);

export function disposeAll(params: Parameters): void {
  for (const one of tensorsOf(params)) one.dispose();
}
