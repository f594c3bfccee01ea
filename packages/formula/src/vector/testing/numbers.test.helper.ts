import type { OperationCase } from './operation-cases.test.helper.js';

/** A repeatable sequence of numbers in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // mulberry32 (Tommy Ettinger, public domain)
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
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
