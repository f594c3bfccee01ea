import type { OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { DerivativeRule, KnownValue } from '@mercer/tensor/operation';
import type { LinalgDType } from './checks.js';
import { symmetric, type Named } from './derivative-parts.js';
import { factorChoice } from './factor-choice.js';
import { linalgFunction } from './linalg-operation.js';
import { matmulOf } from './matmul.js';
import {
  type CallOptions,
  type FactorOption,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  CALL_OPTIONS,
  FACTOR_OPTION,
} from './options.js';

/** Options of inv. */
export interface InvOptions<D extends LinalgDType> extends CallOptions, FactorOption {
  /** Write the inverse into a's memory; the result is another handle for it. */
  readonly overwriteA?: boolean | undefined;
  /** Where the inverse goes, or results by name; not together with overwriteA. */
  readonly out?: Tensor<D> | ResultTargets<InverseResult<D>> | undefined;
}

const INV_OPTIONS: OptionNames<InvOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...FACTOR_OPTION,
  overwriteA: true,
  out: true,
};

/** Inverses of matrices. */
export interface InverseResult<D extends LinalgDType> extends Infos {
  /** (..., n, n) */
  readonly inverse: Tensor<D>;
}

/** How {@link inv} is called. */
export interface Inv {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: InvOptions<NoInfer<D>>,
  ): Promise<InverseResult<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<InvOptions<NoInfer<D>>>,
  ) => Promise<
    PreparedRoutine<[a: Tensor<D>], InverseResult<D>, Tensor<D> | ResultTargets<InverseResult<D>>>
  >;
}

/** `-b^T g b^T` of the inverse b (Giles 2008, section 2.2.3). */
const derivative: DerivativeRule<readonly [a: KnownValue, options?: InvOptions<LinalgDType>]> = {
  vjp: (g, { args: [, options], result }) => {
    const { inverse: upstream } = g as unknown as Named<'inverse'>;
    const { inverse } = result as unknown as Named<'inverse'>;
    return [
      () => {
        const half = matmulOf(inverse, upstream, { transposeA: true, alpha: -1 });
        const whole = matmulOf(half, inverse, { transposeB: true });
        return options?.method === 'cholesky' ? symmetric(whole) : whole;
      },
    ];
  },
};

/**
 * Inverses of square matrices, numpy's `linalg.inv`: LAPACK's getrf and getri, or potrf and potri with `method: 'cholesky'` for
 * symmetric positive definite ones, of which only the triangle `uplo` is read. To solve systems use solveLU and solveCholesky:
 * they are faster and more accurate.
 *
 * Shapes: a (..., n, n), inverse the same. float32 or float64, any strides.
 *
 * infos: k > 0 where pivot k is exactly 0, or with Cholesky where the leading minor of order k is not positive; -1 where a
 * holds NaN or infinity. The inverse is NaN there. |I - a^-1 a| / (|a| |a^-1|) is at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors the
 * matrices on several streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws SingularMatrixError, NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { inv } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { inverse: b } = await inv(await tensor([[2, 0], [0, 4]], { device: 'cpu' }));
 * console.log(await b.toNested()); // [ [ 0.5, 0 ], [ 0, 0.25 ] ]
 * ```
 */
export const inv: Inv = linalgFunction<Inv, InvOptions<LinalgDType>>(
  {
    what: 'inv',
    matrices: ['a'],
    options: INV_OPTIONS,
    results: ['inverse', 'infos'],
    overwrites: [['overwriteA', 'a', 'inverse']],
    meaning: (options) => factorChoice('inv', options).meaning,
    derivative,
    plan: (call, options) => {
      const n = call.order();
      call.run('inverse', {
        a: call.operand('a'),
        inverse: call.matrix('inverse', n, n),
        infos: call.integers('infos'),
        ...factorChoice(call.what, options).flags,
      });
    },
  },
  1,
);
