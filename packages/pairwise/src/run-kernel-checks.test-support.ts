import type { Tensor } from '@mercer/tensor';
import { assert, expect } from 'vitest';
import type { ReferenceMatrix } from './cdist-reference.test-support.js';
import type { KernelDescriptor } from './kernel-descriptor.js';
import { UNIT } from './matrices.test-support.js';
import { referenceKernel, type ReferenceParameters } from './run-kernel-reference.test-support.js';

/** Expects a matrix of results within the published bounds, special values exactly. */
export async function expectKernel(
  result: Tensor,
  descriptor: KernelDescriptor,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  parameters: ReferenceParameters = {},
): Promise<void> {
  const double = result.dtype === 'float64';
  expect(result.shape.slice(-2)).toEqual([a.rows, b.rows]);
  const actual = [...(await result.toTypedArray())].map(Number);
  const precision = {
    // The reference itself is float64: against float64 results its own rounding counts as well.
    unit: double ? 2 * UNIT.float64 : UNIT.float32,
    tiny: double ? 2 ** -1022 : 2 ** -126,
  };
  const { values, limits } = referenceKernel(descriptor, a, b, parameters, precision);
  expect(actual.length).toBe(values.length);
  for (const [i, want] of values.entries()) {
    const got = actual[i] ?? NaN;
    const limit = limits[i] ?? NaN;
    if (Number.isFinite(want)) {
      assert(
        Math.abs(got - want) <= limit,
        `[${String(Math.floor(i / b.rows))}, ${String(i % b.rows)}] of ${JSON.stringify(descriptor)}: ${String(got)}, expected ${String(want)} within ${String(limit)}`,
      );
    } else {
      assert(
        Object.is(got, want),
        `element ${String(i)}: ${String(got)}, expected ${String(want)}`,
      );
    }
  }
}

/** A value for every factor in every row, such that any two values of two factors meet in some row. */
export function coveringArray(levels: readonly number[]): number[][] {
  const rows = levels.reduce<number[][]>(
    (all, count) => all.flatMap((row) => Array.from({ length: count }, (_, i) => [...row, i])),
    [[]],
  );
  const pairsOf = (row: readonly number[]): string[] =>
    row.flatMap((x, i) =>
      row.slice(i + 1).map((y, j) => `${String(i)}:${String(x)} ${String(i + 1 + j)}:${String(y)}`),
    );
  const open = new Set(rows.flatMap(pairsOf));
  const chosen: number[][] = [];
  while (open.size > 0) {
    let best: number[] = [];
    let gain = 0;
    for (const row of rows) {
      const covers = pairsOf(row).filter((pair) => open.has(pair)).length;
      if (covers > gain) [best, gain] = [row, covers];
    }
    chosen.push(best);
    for (const pair of pairsOf(best)) open.delete(pair);
  }
  return chosen;
}
