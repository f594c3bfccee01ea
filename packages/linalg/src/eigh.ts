import type { OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import { zerosLike, type DerivativeRule, type Value } from '@mercer/tensor/operation';
import { equalEigenvalues, spectrumTolerance, warnDegenerate } from './backward/spectrum.js';
import { choice, type LinalgDType } from './checks.js';
import {
  asColumn,
  asRow,
  quotient,
  symmetric,
  type Cotangents,
  type Named,
} from './derivative-parts.js';
import { linalgFunction } from './linalg-operation.js';
import { matmulOf } from './matmul.js';
import {
  type CallOptions,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  type TriangleOption,
  CALL_OPTIONS,
  TRIANGLE_OPTION,
} from './options.js';

/** Options of eigh. */
export interface EighOptions<D extends LinalgDType> extends CallOptions, TriangleOption {
  /** Write the eigenvectors into a's memory; `vectors` is another handle for it. */
  readonly overwriteA?: boolean | undefined;
  /** Where results go, by name. */
  readonly out?: ResultTargets<Eigen<D>> | undefined;
}

const EIGH_OPTIONS: OptionNames<EighOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...TRIANGLE_OPTION,
  overwriteA: true,
  out: true,
};

/** Eigenvalues and eigenvectors of symmetric matrices. */
export interface Eigen<D extends LinalgDType> extends Infos {
  /** (..., n), ascending. */
  readonly values: Tensor<D>;
  /** (..., n, n): column j belongs to value j; columns are orthonormal, their signs are LAPACK's. */
  readonly vectors: Tensor<D>;
}

/** How {@link eigh} is called. */
export interface Eigh {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: EighOptions<NoInfer<D>>,
  ): Promise<Eigen<D>>;
  /** Loads what such a call needs, and gives a function whose promise resolves when all is enqueued: the library waits. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<EighOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], Promise<Eigen<D>>>>;
}

type Parts = 'values' | 'vectors';

/** See `eighBackward`. */
const derivative: DerivativeRule = {
  vjp: (g, { result }) => {
    const saved = result as unknown as Named<Parts>;
    const { vectors } = saved;
    const share = (): Value => {
      if (vectors.shape.includes(0)) return zerosLike(vectors);
      const left = inEigenbasis(g as unknown as Cotangents<Parts>, saved);
      return symmetric(matmulOf(left, vectors, { transposeB: true }));
    };
    return [share];
  },
  noteUse: (used, result) => {
    const { vectors } = used as Cotangents<Parts>;
    const { values } = result as Named<Parts>;
    if (vectors !== undefined) warnDegenerate(values, equalEigenvalues('eigh', values, {}));
  },
};

/** `V (diag(d(values)) + K)`. */
function inEigenbasis(
  { values: dValues, vectors: dVectors }: Cotangents<Parts>,
  { values, vectors }: Named<Parts>,
): Value {
  const slopes = dValues && vectors.mul(asRow(dValues));
  if (dVectors === undefined) return slopes ?? zerosLike(vectors);
  const inner = matmulOf(vectors, dVectors, { transposeA: true });
  const share = spectrumTolerance(
    'eigh',
    {},
    values.shape.at(-1) ?? 0,
    values.dtype as LinalgDType,
  );
  const largest = asColumn(values).abs().max(-2, { keepDims: true });
  const differences = asRow(values).sub(asColumn(values));
  const middle = quotient(inner.sub(inner.transpose()).mul(0.5), differences, largest.mul(share));
  const turned = matmulOf(vectors, middle);
  return slopes === undefined ? turned : slopes.add(turned);
}

/**
 * Eigenvalues w and eigenvectors V of symmetric matrices, `a = V diag(w) V^T`: LAPACK's syevd.
 *
 * Shapes: a (..., n, n), values (..., n), vectors (..., n, n). float32 or float64, any strides. Only the triangle `uplo` is
 * read.
 *
 * infos: k > 0 where the iteration did not converge, -1 where that triangle holds NaN or infinity; values and vectors are NaN
 * there. |a V - V diag(w)| / |a| and |V^T V - I| are at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER waits inside
 * this call, which runs on threads of its own: there the promise resolves when the results are ready.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { eigh } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { values } = await eigh(await tensor([[2, 1], [1, 2]], { device: 'cpu', dtype: 'float64' }));
 * console.log((await values.toTypedArray()).map(Math.round)); // Float64Array(2) [ 1, 3 ]
 * ```
 */
export const eigh: Eigh = linalgFunction<Eigh, EighOptions<LinalgDType>>(
  {
    what: 'eigh',
    matrices: ['a'],
    options: EIGH_OPTIONS,
    results: ['values', 'vectors', 'infos'],
    overwrites: [['overwriteA', 'a', 'vectors']],
    derivative,
    plan: (call, { uplo }) => {
      const n = call.order();
      call.run('eigh', {
        a: call.operand('a'),
        values: call.column('values', n),
        vectors: call.matrix('vectors', n, n),
        infos: call.integers('infos'),
        upper: Number(choice(call.what, 'uplo', uplo, ['lower', 'upper']) === 'upper'),
      });
    },
  },
  1,
  true,
);
