import type { Pending, Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import {
  cholesky,
  choleskyBackward,
  conditionEstimate,
  eigh,
  eighBackward,
  inv,
  invBackward,
  kron,
  kronBackward,
  kronMatvec,
  kronMatvecBackward,
  logdet,
  logdetBackward,
  lstsq,
  lstsqBackward,
  matmul,
  matmulBackward,
  matrixPower,
  matrixPowerBackward,
  qr,
  qrBackward,
  solveCholesky,
  solveCholeskyBackward,
  solveLU,
  solveLUBackward,
  svd,
  svdBackward,
  solveTriangular,
  solveTriangularBackward,
  type CholeskyFactor,
  type ConditionEstimate,
  type Eigen,
  type InverseResult,
  type LeastSquares,
  type LinalgGradients,
  type Logdet,
  type MatrixPower,
  type QrFactors,
  type SingularValues,
  type Solution,
  type SpectrumWarning,
} from './index.js';

declare const f16: Tensor<'float16'>;
declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;
declare const later: Pending<Tensor<'float32'>>;

describe('public signatures', () => {
  it('return the dtype of their tensors', () => {
    expectTypeOf(solveCholesky(f32, f32)).resolves.toEqualTypeOf<Solution<'float32'>>();
    expectTypeOf(solveLU(f64, f64)).resolves.toEqualTypeOf<Solution<'float64'>>();
    expectTypeOf(solveTriangular(f64, f64)).resolves.toEqualTypeOf<Solution<'float64'>>();
    expectTypeOf(lstsq(f32, f32)).resolves.toEqualTypeOf<LeastSquares<'float32'>>();
    expectTypeOf(eigh(f32)).resolves.toEqualTypeOf<Eigen<'float32'>>();
    expectTypeOf(cholesky(f64)).resolves.toEqualTypeOf<CholeskyFactor<'float64'>>();
    expectTypeOf(qr(f32)).resolves.toEqualTypeOf<QrFactors<'float32'>>();
    expectTypeOf(svd(f32)).resolves.toEqualTypeOf<SingularValues<'float32'>>();
    expectTypeOf(inv(f64)).resolves.toEqualTypeOf<InverseResult<'float64'>>();
    expectTypeOf(logdet(f64)).resolves.toEqualTypeOf<Logdet<'float64'>>();
    expectTypeOf(conditionEstimate(f32)).resolves.toEqualTypeOf<ConditionEstimate<'float32'>>();
    expectTypeOf(matrixPower(f32, -0.25)).resolves.toEqualTypeOf<MatrixPower<'float32'>>();
    expectTypeOf(matmul(f32, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(matmul(f16, f16)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(matmul(f16, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(f32.matmul(f16)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    // @ts-expect-error -- float64 beside 16 bits
    void matmul(f64, f16);
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
    void solveTriangular(f32, f32, { overwriteA: true });
    // @ts-expect-error LU has no triangle to choose
    void solveLU(f32, f32, { uplo: 'lower' });
    // @ts-expect-error no such method
    void inv(f32, { method: 'qr' });
  });

  it('of preparations say what their calls give, and take', () => {
    expectTypeOf(solveLU.prepare(f32, f32)).resolves.returns.toEqualTypeOf<Solution<'float32'>>();
    expectTypeOf(solveCholesky.prepare(f64, f64, { uplo: 'upper' })).resolves.returns.toEqualTypeOf<
      Solution<'float64'>
    >();
    expectTypeOf(inv.prepare(f64)).resolves.returns.toEqualTypeOf<InverseResult<'float64'>>();
    expectTypeOf(qr.prepare(f32)).resolves.returns.toEqualTypeOf<QrFactors<'float32'>>();
    expectTypeOf(matmul.prepare(f32, f32)).resolves.returns.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(kronMatvec.prepare(f64, f64, f64)).resolves.returns.toEqualTypeOf<
      Tensor<'float64'>
    >();
    // what waits for a library
    expectTypeOf(eigh.prepare(f32)).resolves.returns.toEqualTypeOf<Promise<Eigen<'float32'>>>();
    expectTypeOf(matrixPower.prepare(f32, 0.5)).resolves.returns.toEqualTypeOf<
      Promise<MatrixPower<'float32'>>
    >();
    void solveLU.prepare(f32, f32).then((solve) => {
      solve(f32, f32, { out: f32 });
      solve(f32, f32, { out: { x: f32, infos: i32 } });
      // @ts-expect-error infos are int32
      solve(f32, f32, { out: { infos: f32 } });
      // @ts-expect-error fixed when it was prepared
      solve(f32, f32, { overwriteB: true });
    });
    void matmul.prepare(f32, f32).then((product) => product(f32, f32, { alpha: 2, beta: 1 }));
    void svd(f64, { out: { s: f64 } });
    // @ts-expect-error it makes a call wait
    void solveLU.prepare(f32, f32, { checkErrors: true });
    // @ts-expect-error that waits for the host
    void matmul.prepare(f32, f32, { device: 'cuda' });
    // @ts-expect-error no such result
    void svd(f64, { out: { v: f64 } });
  });

  it('of backward rules take operands that are not there yet, and of their preparations none', () => {
    type OfA = Promise<LinalgGradients<readonly ['a'], 'float32'>>;
    type OfBoth = Promise<LinalgGradients<readonly ['a', 'b'], 'float32'>>;
    type OfAll = Promise<LinalgGradients<readonly ['a', 'b', 'x'], 'float32'>>;
    const [both, solved] = [
      { a: later, b: f32 },
      { a: later, x: later, b: f32 },
    ] as const;
    expectTypeOf(choleskyBackward(later, { factor: later })).toEqualTypeOf<OfA>();
    expectTypeOf(invBackward(later, { inverse: later })).toEqualTypeOf<OfA>();
    expectTypeOf(logdetBackward(later, { inverse: later })).toEqualTypeOf<OfA>();
    expectTypeOf(matrixPowerBackward(later, { a: later }, 0.5)).toEqualTypeOf<OfA>();
    const [eigen, factors] = [
      { values: later, vectors: f32 },
      { q: later, r: f32 },
    ] as const;
    expectTypeOf(eighBackward({ values: later }, eigen)).toEqualTypeOf<OfA>();
    expectTypeOf(qrBackward({ q: later }, factors)).toEqualTypeOf<OfA>();
    const values = { u: later, s: f32, vh: later } as const;
    expectTypeOf(svdBackward({ s: later }, values)).toEqualTypeOf<OfA>();
    expectTypeOf(matmulBackward(later, both)).toEqualTypeOf<OfBoth>();
    expectTypeOf(kronBackward(later, both)).toEqualTypeOf<OfBoth>();
    expectTypeOf(solveLUBackward(later, solved)).toEqualTypeOf<OfBoth>();
    expectTypeOf(solveTriangularBackward(later, solved)).toEqualTypeOf<OfBoth>();
    expectTypeOf(solveCholeskyBackward(later, { factor: later, x: f32 })).toEqualTypeOf<OfBoth>();
    expectTypeOf(lstsqBackward(later, { ...both, x: later })).toEqualTypeOf<OfBoth>();
    expectTypeOf(kronMatvecBackward(later, { ...both, x: later })).toEqualTypeOf<OfAll>();
    // @ts-expect-error two dtypes
    void choleskyBackward(later, { factor: f64 });
    // @ts-expect-error an example is there
    void invBackward.prepare(later, { inverse: f32 });
    void invBackward.prepare(f32, { inverse: f32 }).then((prepared) => {
      // @ts-expect-error synchronous
      prepared(f32, { inverse: later });
    });
  });

  it('of backward rules say which gradients there are', () => {
    const both = solveLUBackward(f32, { a: f32, x: f32 });
    expectTypeOf(both).resolves.toEqualTypeOf<LinalgGradients<readonly ['a', 'b'], 'float32'>>();
    expectTypeOf(both).resolves.toExtend<{ a: Tensor<'float32'>; b: Tensor<'float32'> }>();
    const one = matmulBackward(f64, { a: f64, b: f64 }, { wrt: ['b'] });
    expectTypeOf(one).resolves.toEqualTypeOf<{ readonly b: Tensor<'float64'> }>();
    const vector = kronMatvecBackward(f32, { a: f32, b: f32, x: f32 }, { wrt: ['x', 'a'] });
    expectTypeOf(vector).resolves.toEqualTypeOf<{
      readonly x: Tensor<'float32'>;
      readonly a: Tensor<'float32'>;
    }>();
    expectTypeOf(
      eighBackward({ values: f64 }, { values: f64, vectors: f64 }),
    ).resolves.toEqualTypeOf<{
      readonly a: Tensor<'float64'>;
    }>();
    void svdBackward(
      { s: f32 },
      { u: f32, s: f32, vh: f32 },
      { onDegenerate: (warning) => expectTypeOf(warning).toEqualTypeOf<SpectrumWarning>() },
    );
    void solveCholeskyBackward(
      f32,
      { factor: f32, x: f32, b: { shape: [2, 1] } },
      { uplo: 'upper' },
    );
    void matrixPowerBackward(f32, { values: f32, vectors: f32 }, 0.5);
    void logdetBackward(f32, { inverse: f32 });
    // @ts-expect-error a or the factor, not both
    void solveCholeskyBackward(f32, { a: f32, factor: f32, x: f32 });
    // @ts-expect-error a or its eigenvalues
    void matrixPowerBackward(f32, { values: f32 }, 0.5);
    // @ts-expect-error two dtypes
    void choleskyBackward(f32, { factor: f64 });
    // @ts-expect-error no such input
    void solveLUBackward(f32, { a: f32, x: f32 }, { wrt: ['x'] });
  });
});
