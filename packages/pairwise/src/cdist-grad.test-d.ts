import type { Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import { cdistGrad, type CdistGradPlan, type PreparedCdistGrad } from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;

describe('cdistGrad', () => {
  it('returns the dtype of its tensors', () => {
    expectTypeOf(cdistGrad(f32, f32, f32, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(cdistGrad(f64, [[1]], [[1]], [[1]])).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(cdistGrad([[1]], f64, [[1]], [[1]])).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(cdistGrad([[1]], [[1]], [[1]], [[1]])).resolves.toEqualTypeOf<
      Tensor<'float32' | 'float64'>
    >();
  });

  it('takes p as a number or a tensor of the same dtype', () => {
    void cdistGrad(f32, f32, f32, f32, { p: f32 });
    // @ts-expect-error p has another dtype
    void cdistGrad(f32, f32, f32, f32, { p: f64 });
  });

  it('refuses mixed and integer dtypes, a wrong out and unknown options', () => {
    // @ts-expect-error two dtypes
    void cdistGrad(f32, f64, f32, f32);
    // @ts-expect-error integers have no kernel
    void cdistGrad(i32, i32, i32, i32);
    // @ts-expect-error out has another dtype
    void cdistGrad(f32, f32, f32, f32, { out: f64 });
    // @ts-expect-error no root, so nothing to skip
    void cdistGrad(f32, f32, f32, f32, { skipEpilogue: true });
  });

  it('prepares a synchronous function', () => {
    expectTypeOf(cdistGrad.prepare(f32, f32, f32, f32)).resolves.toEqualTypeOf<
      PreparedCdistGrad<'float32'>
    >();
    expectTypeOf<ReturnType<PreparedCdistGrad<'float64'>>>().toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf<PreparedCdistGrad<'float32'>['plan']>().toEqualTypeOf<CdistGradPlan>();
  });
});
