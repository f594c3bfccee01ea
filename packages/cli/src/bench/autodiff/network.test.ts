import { describe, expect, it } from 'vitest';
import { hashedNumbers } from './hashed-numbers.js';
import { stepNumbers, trueGradients, type LayerNumbers, type StepNumbers } from './network.js';
import { relativeError } from './relative-error.js';

/** The mean cross-entropy, unit by unit. */
function lossOf({ layers, images, labels }: StepNumbers): number {
  const width = layers[0]?.inputs ?? 0;
  let total = 0;
  for (const [row, label] of labels.entries()) {
    let units: number[] = [...images.slice(row * width, (row + 1) * width)];
    for (const [k, { outputs, weight, bias }] of layers.entries()) {
      const inputs = units;
      units = Array.from({ length: outputs }, (_, j) => {
        const sum = inputs.reduce(
          (all, one, i) => all + one * Number(weight[i * outputs + j]),
          Number(bias[j]),
        );
        return k < layers.length - 1 && sum < 0 ? 0 : sum;
      });
    }
    const largest = Math.max(...units);
    const shares = units.map((one) => Math.exp(one - largest));
    const all = shares.reduce((sum, one) => sum + one, 0);
    total -= Math.log(Number(shares[label]) / all);
  }
  return total / labels.length;
}

describe('the truth of a step', () => {
  const layer = (inputs: number, outputs: number, seed: number): LayerNumbers => ({
    inputs,
    outputs,
    weight: hashedNumbers(inputs * outputs, seed, [-1, 1]),
    bias: hashedNumbers(outputs, seed + 1, [-0.3, 0.3]),
  });
  const small: StepNumbers = {
    layers: [layer(3, 4, 1), layer(4, 5, 3), layer(5, 10, 5)],
    images: hashedNumbers(6, 7, [-1, 1]),
    labels: Int32Array.of(3, 9),
  };

  it('is the slope of the mean cross-entropy by every weight and bias', () => {
    const found = trueGradients(small);
    expect(found).toHaveLength(6);
    const moved = (k: number, name: 'weight' | 'bias', at: number, by: number): number => {
      const layers = small.layers.map((one, n) =>
        n === k
          ? { ...one, [name]: Array.from(one[name]).with(at, Number(one[name][at]) + by) }
          : one,
      );
      return lossOf({ ...small, layers });
    };
    for (const [k, one] of small.layers.entries()) {
      for (const [n, name] of (['weight', 'bias'] as const).entries()) {
        const slopes = Array.from(
          one[name],
          (_, at) => (moved(k, name, at, 1e-5) - moved(k, name, at, -1e-5)) / 2e-5,
        );
        expect(relativeError(found[2 * k + n] ?? [], slopes)).toBeLessThan(1e-8);
      }
    }
  });

  it('is of numbers that the script of the peers makes too', () => {
    // numpy's uint32 arithmetic gives these
    expect([...hashedNumbers(3, 30, [0, 1])]).toEqual([
      0.29032644629478455, 0.18090175092220306, 0.8222794532775879,
    ]);
    expect(hashedNumbers(250_000, 1, [-1, 1]).at(-1)).toBe(Math.fround(-0.07597199));
    const { layers, images, labels } = stepNumbers(3);
    expect(layers.map(({ weight, bias }) => [weight.length, bias.length])).toEqual([
      [784 * 256, 256],
      [256 * 256, 256],
      [2560, 10],
    ]);
    expect(images).toHaveLength(3 * 784);
    expect([...labels]).toEqual([0, 7, 4]);
  });
});

describe('errors', () => {
  it('are the largest difference by the largest value', () => {
    expect(relativeError([1, 2.5, -4], [1, 2, -4])).toBe(0.125);
    expect(relativeError([0, 0], [0, 0])).toBe(0);
    expect(relativeError([1, NaN], [1, 2])).toBe(Infinity);
    expect(relativeError([1], [1, 2])).toBe(Infinity);
  });
});
