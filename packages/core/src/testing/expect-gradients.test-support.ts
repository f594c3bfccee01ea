import { grad } from '@mercer/autodiff';
import type { Device, Tensor } from '@mercer/tensor';
import { expect } from 'vitest';
import { drawnOn, expectGradient, type Scalar } from '../../../autodiff/test/differences.mjs';

/** A value of a result that every element changes, by weights that look random. */
export const weighedOn =
  (device: () => Device) =>
  async (result: Tensor, seed = 7): Promise<Tensor> =>
    result
      .mul(await drawnOn(device)(result.shape, [0.5, 1.5], seed))
      .square()
      .sum();

/** That the gradient by each input has its shape, and is what differences of values say. @returns the gradients */
export async function expectGradients(
  f: Scalar,
  inputs: readonly Tensor[],
): Promise<readonly Tensor[]> {
  const found = await grad(f, { argnums: inputs.map((_, k) => k) })(...inputs);
  for (const [by, one] of found.entries()) {
    expect(one.shape).toEqual(inputs[by]?.shape);
    await expectGradient(await one.toTypedArray(), f, inputs, by, 1e-6);
  }
  expect(found).toHaveLength(inputs.length);
  return found;
}
