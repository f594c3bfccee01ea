import type { Tensor } from '@mercer/tensor';
import { expect } from 'vitest';
import type { LazyDType } from '../index.js';
import type { Numbers } from '../reference.test-support.js';

/** Absolute and relative, as numpy's allclose takes them, whose values they have by default. */
export interface Tolerance {
  readonly atol?: number;
  readonly rtol?: number;
}

/** One number of a batch entry. */
export function at({ values, rows, dim }: Numbers, row: number, c = 0, entry = 0): number {
  return values[(entry * rows + row) * dim + c] ?? NaN;
}

/** `dim` numbers for every kept row, each a sum of terms over the rows that are reduced. */
export function sums(
  kept: number,
  reduced: number,
  dim: number,
  term: (row: number, other: number, c: number) => number,
): Float64Array {
  return Float64Array.from({ length: kept * dim }, (_, flat) => {
    let sum = 0;
    for (let other = 0; other < reduced; other++)
      sum += term(Math.floor(flat / dim), other, flat % dim);
    return sum;
  });
}

/** Sums for every batch entry, one after the other. */
export function batched(entries: number, of: (entry: number) => Float64Array): Float64Array {
  return Float64Array.from(Array.from({ length: entries }, (_, entry) => [...of(entry)]).flat());
}

/** Squared distances of two rows. */
export function square(x: Numbers, i: number, y: Numbers, j: number, ex = 0, ey = 0): number {
  let sum = 0;
  for (let c = 0; c < x.dim; c++) sum += (at(x, i, c, ex) - at(y, j, c, ey)) ** 2;
  return sum;
}

/** Within `atol + rtol |wanted|`, number by number. */
export function expectClose(
  found: ArrayLike<number>,
  wanted: ArrayLike<number>,
  { atol = 1e-8, rtol = 1e-5 }: Tolerance = {},
): void {
  expect(found).toHaveLength(wanted.length);
  const wrong = Array.from(wanted, (want, place) => ({ place, want, got: found[place] ?? NaN }))
    // Not within: a NaN is neither.
    .filter(({ want, got }) => !(Math.abs(got - want) <= atol + rtol * Math.abs(want)));
  expect(wrong.slice(0, 3)).toEqual([]);
}

/** A number that inputs give. */
export type Loss = (inputs: readonly Numbers[]) => number;

/** The gradient of a loss by one input, by central differences: within about 1e-9 for numbers near 1. */
export function differences(loss: Loss, inputs: readonly Numbers[], which: number): Float64Array {
  const step = 1e-5;
  const moved = (place: number, by: number): number =>
    loss(
      inputs.map((one, input) => {
        if (input !== which) return one;
        const values = one.values.slice();
        values[place] = (values[place] ?? NaN) + by;
        return { ...one, values };
      }),
    );
  const { values } = inputs[which]!;
  return values.map((_, place) => (moved(place, step) - moved(place, -step)) / (2 * step));
}

/** The sum of all numbers times those of a cotangent. */
export const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, value, place) => sum + value * (b[place] ?? NaN), 0);

/** The numbers of a result. */
export const numbersOf = (x: Tensor): Promise<ArrayLike<number>> =>
  (x as Tensor<LazyDType>).toTypedArray();
