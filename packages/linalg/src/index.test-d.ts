import type { Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import {
  cholesky,
  conditionEstimate,
  eigh,
  inverse,
  kron,
  kronMatvec,
  logdet,
  lstsq,
  matmul,
  matrixPower,
  qr,
  solveCholesky,
  solveLU,
  svd,
  triangularSolve,
  type CholeskyFactor,
  type ConditionEstimate,
  type Eigen,
  type InverseResult,
  type LeastSquares,
  type Logdet,
  type MatrixPower,
  type QrFactors,
  type SingularValues,
  type Solution,
} from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;

describe('public signatures', () => {
  it('return the dtype of their tensors', () => {
    expectTypeOf(solveCholesky(f32, f32)).resolves.toEqualTypeOf<Solution<'float32'>>();
    expectTypeOf(solveLU(f64, f64)).resolves.toEqualTypeOf<Solution<'float64'>>();
    expectTypeOf(triangularSolve(f64, f64)).resolves.toEqualTypeOf<Solution<'float64'>>();
    expectTypeOf(lstsq(f32, f32)).resolves.toEqualTypeOf<LeastSquares<'float32'>>();
    expectTypeOf(eigh(f32)).resolves.toEqualTypeOf<Eigen<'float32'>>();
    expectTypeOf(cholesky(f64)).resolves.toEqualTypeOf<CholeskyFactor<'float64'>>();
    expectTypeOf(qr(f32)).resolves.toEqualTypeOf<QrFactors<'float32'>>();
    expectTypeOf(svd(f32)).resolves.toEqualTypeOf<SingularValues<'float32'>>();
    expectTypeOf(inverse(f64)).resolves.toEqualTypeOf<InverseResult<'float64'>>();
    expectTypeOf(logdet(f64)).resolves.toEqualTypeOf<Logdet<'float64'>>();
    expectTypeOf(conditionEstimate(f32)).resolves.toEqualTypeOf<ConditionEstimate<'float32'>>();
    expectTypeOf(matrixPower(f32, -0.25)).resolves.toEqualTypeOf<MatrixPower<'float32'>>();
    expectTypeOf(matmul(f32, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    const elsewhere = { precision: 'tf32x3', device: 'cuda', maxBytes: 2 ** 30 } as const;
    expectTypeOf(matmul(f32, f32, elsewhere)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(kron(f64, f64)).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(kronMatvec(f64, f64, f64)).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf<Solution<'float32'>['infos']>().toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf<LeastSquares<'float64'>['rank']>().toEqualTypeOf<Tensor<'int32'>>();
  });

  it('refuse mixed and integer dtypes, wrong outputs and words', () => {
    // @ts-expect-error two dtypes
    void solveCholesky(f32, f64);
    // @ts-expect-error integers have no factors
    void eigh(i32);
    // @ts-expect-error out has another dtype
    void matmul(f32, f32, { out: f64 });
    // @ts-expect-error no such precision
    void matmul(f32, f32, { precision: 'bf16x3' });
    // @ts-expect-error no such triangle
    void cholesky(f32, { uplo: 'both' });
    // @ts-expect-error a triangle has no factor to leave in it
    void triangularSolve(f32, f32, { overwriteA: true });
    // @ts-expect-error LU has no triangle to choose
    void solveLU(f32, f32, { uplo: 'lower' });
    // @ts-expect-error no such method
    void inverse(f32, { method: 'qr' });
  });
});
