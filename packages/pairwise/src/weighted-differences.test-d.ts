import type { Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import {
  weightedDifferences,
  type WeightedDifferencesPlan,
  type PreparedWeightedDifferences,
} from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;

describe('weightedDifferences', () => {
  it('returns the dtype of its tensors', () => {
    expectTypeOf(weightedDifferences(f32, f32, f32, f32)).resolves.toEqualTypeOf<
      Tensor<'float32'>
    >();
    expectTypeOf(weightedDifferences(f64, [[1]], [[1]], [[1]])).resolves.toEqualTypeOf<
      Tensor<'float64'>
    >();
    expectTypeOf(weightedDifferences([[1]], f64, [[1]], [[1]])).resolves.toEqualTypeOf<
      Tensor<'float64'>
    >();
    expectTypeOf(weightedDifferences([[1]], [[1]], [[1]], [[1]])).resolves.toEqualTypeOf<
      Tensor<'float32' | 'float64'>
    >();
  });

  it('takes p as a number or a tensor of the same dtype', () => {
    void weightedDifferences(f32, f32, f32, f32, { p: f32 });
    // @ts-expect-error p has another dtype
    void weightedDifferences(f32, f32, f32, f32, { p: f64 });
  });

  it('refuses mixed and integer dtypes, a wrong out and unknown options', () => {
    // @ts-expect-error two dtypes
    void weightedDifferences(f32, f64, f32, f32);
    // @ts-expect-error integers have no kernel
    void weightedDifferences(i32, i32, i32, i32);
    // @ts-expect-error out has another dtype
    void weightedDifferences(f32, f32, f32, f32, { out: f64 });
    // @ts-expect-error no root, so nothing to skip
    void weightedDifferences(f32, f32, f32, f32, { skipEpilogue: true });
  });

  it('prepares a synchronous function', () => {
    expectTypeOf(weightedDifferences.prepare(f32, f32, f32, f32)).resolves.toEqualTypeOf<
      PreparedWeightedDifferences<'float32'>
    >();
    expectTypeOf<ReturnType<PreparedWeightedDifferences<'float64'>>>().toEqualTypeOf<
      Tensor<'float64'>
    >();
    expectTypeOf<
      PreparedWeightedDifferences<'float32'>['plan']
    >().toEqualTypeOf<WeightedDifferencesPlan>();
  });
});
