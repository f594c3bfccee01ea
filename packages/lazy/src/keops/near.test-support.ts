import type { Tensor } from '@mercer/tensor';
import { expect } from 'vitest';
import type { LazyReduction } from '../index.js';
import { evaluated } from '../evaluated.test-support.js';
import type { Numbers } from '../reference.test-support.js';

/** Rows of i, rows of j, and components of KeOps' own small tests. */
export const [M, N, D]: readonly [number, number, number] = [10, 6, 3];

/** Demands absolute differences within what KeOps' own tests allow. */
export async function expectNear(
  found: Tensor,
  wanted: ArrayLike<number> | undefined,
  tolerance: number,
): Promise<void> {
  const values = (await found.toTypedArray()) as Float32Array;
  expect(values).toHaveLength(wanted?.length ?? -1);
  for (const [at, value] of values.entries()) {
    expect(Math.abs(value - (wanted?.[at] ?? NaN)), `number ${at}`).toBeLessThan(tolerance);
  }
}

/** What a reduction gives in float64. */
export const wantedOf = (
  of: LazyReduction,
  data: readonly Numbers[],
  rowsI = M,
  rowsJ = N,
): ReturnType<typeof evaluated> => evaluated(of.reduction, data, { rowsI, rowsJ });
