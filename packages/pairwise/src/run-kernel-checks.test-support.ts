import type { PairwiseDType } from '@mercer/kernels';
import type { Tensor } from '@mercer/tensor';
import { assert, expect } from 'vitest';
import type { ReferenceMatrix } from './cdist-reference.test-support.js';
import type { KernelDescriptor } from './descriptor-types.js';
import { UNIT } from './matrices.test-support.js';
import {
  referenceKernel,
  type ReferenceParameters,
  type ReferenceResult,
} from './run-kernel-reference.test-support.js';

/** What a call must give, in rows and columns of a shape. */
export interface KernelOracle extends ReferenceResult {
  readonly descriptor: KernelDescriptor;
  readonly shape: readonly [rows: number, columns: number];
}

/** The oracle for results of a data type. */
export function kernelOracle(
  dtype: PairwiseDType,
  descriptor: KernelDescriptor,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  parameters: ReferenceParameters,
): KernelOracle {
  const double = dtype === 'float64';
  const precision = {
    // The reference itself is float64: against float64 results its own rounding counts as well.
    unit: double ? 2 * UNIT.float64 : UNIT.float32,
    tiny: double ? 2 ** -1022 : 2 ** -126,
  };
  const { values, limits } = referenceKernel(descriptor, a, b, parameters, precision);
  return { descriptor, shape: [a.rows, b.rows], values, limits };
}

/** Expects a matrix of results within the published bounds, special values exactly. */
export async function expectOracle(
  result: Tensor,
  { descriptor, shape, values, limits }: KernelOracle,
): Promise<void> {
  expect(result.shape.slice(-2)).toEqual(shape);
  const actual = (await result.toTypedArray()) as Float32Array | Float64Array;
  expect(actual.length).toBe(values.length);
  for (const [i, want] of values.entries()) {
    const got = actual[i] ?? NaN;
    const limit = limits[i] ?? NaN;
    const holds = Number.isFinite(want) ? Math.abs(got - want) <= limit : Object.is(got, want);
    if (!holds) {
      const place = `[${Math.floor(i / shape[1])}, ${i % shape[1]}]`;
      assert.fail(
        `${place} of ${JSON.stringify(descriptor)}: ${got}, expected ${want} within ${limit}`,
      );
    }
  }
}

/** The same for the rows of two matrices. */
export async function expectKernel(
  result: Tensor,
  descriptor: KernelDescriptor,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  parameters: ReferenceParameters = {},
): Promise<void> {
  const dtype = result.dtype === 'float64' ? 'float64' : 'float32';
  await expectOracle(result, kernelOracle(dtype, descriptor, a, b, parameters));
}
