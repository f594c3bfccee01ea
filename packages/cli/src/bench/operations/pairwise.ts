import type { KernelCell } from '../cells.js';
import { makeOperands } from '../data-sets.js';
import { plainDistance } from '../plain-distance.js';
import type { BenchCall, ElementOperation, Float, FloatArray } from './operation.js';
import { pairsPerSecond } from './rates.js';

/** What differs between operations on the pairs of two lists of rows. */
export interface PairwiseParts {
  readonly text: string;
  readonly parameters?: (cell: KernelCell) => Readonly<Record<string, number>>;
  readonly prepare: (cell: KernelCell, a: Float, b: Float) => Promise<BenchCall>;
  /** From the p-norm of a difference to the result; without it the norm is the result. */
  readonly finish?: (distance: number, cell: KernelCell) => number;
}

/** An operation whose result is a function of the distance between each row of a and each row of b. */
export function pairwiseOperation(parts: PairwiseParts): ElementOperation {
  const { text, parameters, prepare, finish } = parts;
  return {
    text,
    ...(parameters === undefined ? {} : { parameters }),
    operands: ({ m, n, k }) => [
      { name: 'a', shape: [m, k] },
      { name: 'b', shape: [n, k] },
    ],
    results: ({ m, n }) => [[m, n]],
    makeData: (set, { dtype, m, n, k, batch }) => {
      const { a, b } = makeOperands(set, dtype, m * batch, n * batch, k);
      return [a, b];
    },
    prepare: (cell, operands) => prepare(cell, ...pair(operands)),
    arithmeticMs: (cell, limits) => {
      const rate = pairsPerSecond(cell, limits);
      return rate === undefined
        ? undefined
        : ((cell.m * cell.n * cell.k * cell.batch) / rate) * 1e3;
    },
    truth: (cell, data, entry, row, column) => {
      const { m, n, k, p } = cell;
      const [a, b] = pair<FloatArray>(data);
      const distance = plainDistance(a, (entry * m + row) * k, b, (entry * n + column) * k, k, p);
      const value = finish === undefined ? distance : finish(distance, cell);
      return { value, scale: Math.abs(value) };
    },
  };
}

function pair<T>([a, b]: readonly T[]): [T, T] {
  if (a === undefined || b === undefined) throw new RangeError('two operands are needed');
  return [a, b];
}
