import type { OperationCase } from './operation-case.test-support.js';

/** A repeatable sequence of numbers in [0, 1): a linear congruential generator, its upper bits. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
  // Neighbouring seeds begin alike.
  for (let k = 0; k < 4; k++) next();
  return next;
}

/** Values for the inputs of a case. */
export function drawInputs({ inputs }: OperationCase, random: () => number): number[][] {
  return inputs.map(([dim, low, high]) =>
    Array.from({ length: dim }, () => low + (high - low) * random()),
  );
}

/** The derivative at 0 of a smooth function, from central differences with two Richardson steps. */
export function slopeAtZero(f: (t: number) => number, h: number): number {
  const slope = (step: number): number => (f(step) - f(-step)) / (2 * step);
  return (64 * slope(h) - 20 * slope(2 * h) + slope(4 * h)) / 45;
}
