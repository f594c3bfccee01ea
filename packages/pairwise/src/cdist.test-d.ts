import { type CpuExecutor, planOf, type ResultPlan, type Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import { cdist, type PairwisePlan, type PreparedCdist } from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;

describe('cdist', () => {
  it('returns the dtype of its tensors', () => {
    expectTypeOf(cdist(f32, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(cdist(f64, [[1, 2]])).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(cdist([[1, 2]], f64)).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(cdist([[1]], [[2]])).resolves.toEqualTypeOf<Tensor<'float32' | 'float64'>>();
  });

  it('refuses mixed and integer dtypes, and a wrong out', () => {
    // @ts-expect-error two dtypes
    void cdist(f32, f64);
    // @ts-expect-error integers have no distance kernel
    void cdist(i32, i32);
    // @ts-expect-error out has another dtype
    void cdist(f32, f32, { out: f64 });
    // @ts-expect-error no such option
    void cdist(f32, f32, { q: 2 });
  });

  it('prepares a synchronous function', () => {
    expectTypeOf(cdist.prepare(f32, f32)).resolves.toEqualTypeOf<PreparedCdist<'float32'>>();
    expectTypeOf<ReturnType<PreparedCdist<'float64'>>>().toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf<PreparedCdist<'float32'>['plan']>().toEqualTypeOf<PairwisePlan>();
  });

  it('tells its plan', () => {
    expectTypeOf(planOf).returns.toEqualTypeOf<ResultPlan | undefined>();
    expectTypeOf<ResultPlan['executor']>().toEqualTypeOf<CpuExecutor | undefined>();
  });
});
