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

/** Slopes by one input, from differences on both sides: along a change of it, and by one element. */
async function slopesOf(f, inputs, by, step = 1e-5) {
  const x = inputs[by];
  if (x === undefined) throw new Error('an input');
  const data = Float64Array.from(await x.toTypedArray(), Number);
  const at = async (change, size) => {
    const moved = data.map((one, k) => one + size * change(k));
    const one = await tensor(moved, { shape: x.shape, device: x.device });
    return valueOf(f, inputs.with(by, one));
  };
  const along = async (change) =>
    ((await at(change, step)) - (await at(change, -step))) / (2 * step);
  return { along, by: (k) => along((other) => Number(other === k)), count: data.length };
}

/** The gradient by one input from differences on both sides of each element. */
export async function centralDifferences(f, inputs, by, step) {
  const slopes = await slopesOf(f, inputs, by, step);
  const all = new Float64Array(slopes.count);
  for (const k of all.keys()) all[k] = await slopes.by(k);
  return all;
}

/** How many elements stand for the others where those of each are not taken. */
const SOME = 2;

/**
 * A check that numbers are the gradient by one input, from differences: along a change of all elements, and by some of them, the first and the last. With
 * MERCER_TEST_FULL=1 by each.
 */
export async function gradientCheck(f, inputs, by, step) {
  const slopes = await slopesOf(f, inputs, by, step);
  const { count } = slopes;
  if (process.env.MERCER_TEST_FULL === '1' || count <= SOME) {
    const all = await centralDifferences(f, inputs, by, step);
    return (found, bound) => expectClose(found, all, bound);
  }
  const next = uniform(count);
  const change = Array.from({ length: count }, () => 0.5 + next());
  const places = Array.from({ length: SOME }, (_, n) => Math.round((n * (count - 1)) / (SOME - 1)));
  const expected = [await slopes.along((k) => change[k])];
  for (const k of places) expected.push(await slopes.by(k));
  return (found, bound) => {
    expect(found).toHaveLength(count);
    const numbers = Array.from(found, Number);
    const along = numbers.reduce((sum, one, k) => sum + one * change[k], 0);
    expectClose([along, ...places.map((k) => numbers[k])], expected, bound);
  };
}

/** That numbers are the gradient by one input: see {@link gradientCheck}. */
export async function expectGradient(found, f, inputs, by, bound) {
  (await gradientCheck(f, inputs, by))(found, bound);
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
