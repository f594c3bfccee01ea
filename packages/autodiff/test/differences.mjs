// Derivatives from differences, beside those that are computed.
import { tensor } from '@mercer/tensor';
import { expect } from 'vitest';

/** Numbers from 0 to 1 that look random and are the same in every run. */
export function uniform(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes float64 tensors on a device, with elements between two numbers. */
export function drawnOn(device) {
  return (shape, [from, to], seed = 1) => {
    const next = uniform(seed);
    const size = shape.reduce((a, b) => a * b, 1);
    const data = Float64Array.from({ length: size }, () => from + (to - from) * next());
    return tensor(data, { shape, device: device() });
  };
}

export const drawn = drawnOn(() => 'cpu');

const valueOf = async (f, inputs) => Number(await (await f(...inputs)).item());

/** The gradient by one input from differences on both sides of each element. */
export async function centralDifferences(f, inputs, by, step = 1e-5) {
  const x = inputs[by];
  if (x === undefined) throw new Error('an input');
  const data = Float64Array.from(await x.toTypedArray(), Number);
  const at = async (k, change) => {
    const moved = data.with(k, (data[k] ?? 0) + change);
    const one = await tensor(moved, { shape: x.shape, device: x.device });
    return valueOf(f, inputs.with(by, one));
  };
  const slopes = new Float64Array(data.length);
  for (const k of data.keys())
    slopes[k] = ((await at(k, step)) - (await at(k, -step))) / (2 * step);
  return slopes;
}

/** That numbers agree as well as differences allow. */
export function expectClose(found, expected, bound) {
  expect(found).toHaveLength(expected.length);
  for (let k = 0; k < expected.length; k++) {
    const truth = expected[k] ?? NaN;
    const difference = Math.abs(Number(found[k]) - truth);
    const isClose =
      Object.is(Number(found[k]), truth) || difference <= bound * Math.max(1, Math.abs(truth));
    expect(isClose, `element ${k}: ${String(found[k])}, expected ${truth}`).toBe(true);
  }
}
