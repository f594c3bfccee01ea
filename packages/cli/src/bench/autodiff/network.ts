import { hashedNumbers } from './hashed-numbers.js';

/** Inputs, hidden units and classes. */
export const WIDTHS = [784, 256, 256, 10] as const;
const CLASSES = 10;

/** A layer's numbers, row-major: inputs by outputs. */
export interface LayerNumbers {
  readonly inputs: number;
  readonly outputs: number;
  readonly weight: ArrayLike<number>;
  readonly bias: ArrayLike<number>;
}

/** What a step is computed from. The peers' script makes the same numbers. */
export interface StepNumbers {
  readonly layers: readonly LayerNumbers[];
  readonly images: Float32Array;
  readonly labels: Int32Array;
}

export function stepNumbers(batch: number): StepNumbers {
  const layers = WIDTHS.slice(1).map((outputs, k) => {
    const inputs = WIDTHS[k] ?? 0;
    const spread = Math.sqrt(6 / inputs);
    return {
      inputs,
      outputs,
      weight: hashedNumbers(inputs * outputs, 10 + k, [-spread, spread]),
      bias: hashedNumbers(outputs, 20 + k, [-0.1, 0.1]),
    };
  });
  const images = hashedNumbers(batch * WIDTHS[0], 30, [0, 1]);
  const labels = Int32Array.from({ length: batch }, (_, row) => (7 * row) % CLASSES);
  return { layers, images, labels };
}

/** Gradients of the mean cross-entropy in float64, in plain loops: of each layer's weight and bias. */
export function trueGradients({ layers, images, labels }: StepNumbers): Float64Array[] {
  const batch = labels.length;
  const inputs: Float64Array[] = [Float64Array.from(images)];
  let scores = new Float64Array(0);
  for (const [k, layer] of layers.entries()) {
    scores = forwards(inputs[k] ?? scores, layer, batch);
    inputs.push(scores.map((one) => Math.max(one, 0)));
  }
  let slopes = scoreSlopes(scores, labels);
  const found: Float64Array[] = [];
  for (const [k, layer] of [...layers.entries()].reverse()) {
    const input = inputs[k] ?? scores;
    found.unshift(weightSlopes(input, slopes, layer), biasSlopes(slopes, layer));
    if (k > 0) slopes = inputSlopes(input, slopes, layer);
  }
  return found;
}

const at = (values: ArrayLike<number>, k: number): number => values[k] ?? NaN;

function forwards(x: Float64Array, layer: LayerNumbers, batch: number): Float64Array<ArrayBuffer> {
  const { inputs, outputs, weight, bias } = layer;
  const sums = new Float64Array(batch * outputs);
  for (let row = 0; row < batch; row++) {
    for (let j = 0; j < outputs; j++) sums[row * outputs + j] = at(bias, j);
    for (let i = 0; i < inputs; i++) {
      const one = at(x, row * inputs + i);
      for (let j = 0; j < outputs; j++)
        sums[row * outputs + j]! += one * at(weight, i * outputs + j);
    }
  }
  return sums;
}

/** The softmax less what is wanted, by the batch. */
function scoreSlopes(scores: Float64Array, labels: Int32Array): Float64Array<ArrayBuffer> {
  const slopes = new Float64Array(scores.length);
  for (const [row, label] of labels.entries()) {
    const line = scores.subarray(row * CLASSES, (row + 1) * CLASSES);
    const largest = Math.max(...line);
    const total = line.reduce((sum, one) => sum + Math.exp(one - largest), 0);
    for (const [j, one] of line.entries()) {
      const share = Math.exp(one - largest) / total;
      slopes[row * CLASSES + j] = (share - (j === label ? 1 : 0)) / labels.length;
    }
  }
  return slopes;
}

function weightSlopes(
  x: Float64Array,
  slopes: Float64Array,
  { inputs, outputs }: LayerNumbers,
): Float64Array {
  const sums = new Float64Array(inputs * outputs);
  for (let row = 0; row * outputs < slopes.length; row++) {
    for (let i = 0; i < inputs; i++) {
      const one = at(x, row * inputs + i);
      for (let j = 0; j < outputs; j++)
        sums[i * outputs + j]! += one * at(slopes, row * outputs + j);
    }
  }
  return sums;
}

function biasSlopes(slopes: Float64Array, { outputs }: LayerNumbers): Float64Array {
  const sums = new Float64Array(outputs);
  for (const [k, one] of slopes.entries()) sums[k % outputs]! += one;
  return sums;
}

/** Nothing comes back through a unit that gave 0. */
function inputSlopes(
  x: Float64Array,
  slopes: Float64Array,
  { inputs, outputs, weight }: LayerNumbers,
): Float64Array<ArrayBuffer> {
  return Float64Array.from(x, (one, k) => {
    if (one === 0) return 0;
    const [row, i] = [Math.floor(k / inputs), k % inputs];
    let sum = 0;
    for (let j = 0; j < outputs; j++)
      sum += at(slopes, row * outputs + j) * at(weight, i * outputs + j);
    return sum;
  });
}
