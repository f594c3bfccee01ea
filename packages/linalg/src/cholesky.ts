import type { OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import { pendingOf, type DerivativeRule, type KnownValue } from '@mercer/tensor/operation';
import { choice, EPSILON, type LinalgDType } from './checks.js';
import { floats, symmetric, type Cotangents, type Named } from './derivative-parts.js';
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
import { solveTriangular } from './solve-triangular.js';

/** Options of cholesky. */
export interface CholeskyOptions<D extends LinalgDType> extends CallOptions, TriangleOption {
  /**
   * 'none' (default), or 'escalate': where a matrix has no factor, add a multiple of the identity and try again, ten times as
   * much each time. The first is 10 eps times the mean magnitude of the diagonal, the last 10^6 times that.
   */
  readonly jitter?: 'none' | 'escalate' | undefined;
  /** Called once for each matrix that needed jitter. With it the call waits for the device. */
  readonly onJitter?: ((warning: JitterWarning) => void) | undefined;
  /** Write the factor into a's memory; the result is another handle for it. */
  readonly overwriteA?: boolean | undefined;
  /** Where the factor goes, or results by name; not together with overwriteA. */
  readonly out?: Tensor<D> | ResultTargets<CholeskyFactor<D>> | undefined;
}

const CHOLESKY_OPTIONS: OptionNames<CholeskyOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...TRIANGLE_OPTION,
  jitter: true,
  onJitter: true,
  overwriteA: true,
  out: true,
};

/** A matrix got a factor only with `jitter` added to its diagonal. */
export interface JitterWarning {
  readonly code: 'JITTER_ADDED';
  /** Index of the matrix in row-major order of the batch axes. */
  readonly entry: number;
  readonly jitter: number;
  readonly message: string;
}

/** Cholesky factors. */
export interface CholeskyFactor<D extends LinalgDType> extends Infos {
  /** Triangular, (..., n, n), with zeros in the other triangle. */
  readonly factor: Tensor<D>;
  /** What was added to each diagonal; 0 where nothing had to be. Of a matrix without a factor, what was tried last. */
  readonly jitters: Tensor<D>;
}

/** Attempts with jitter, after the one without. */
const ATTEMPTS = 7;
/** The first jitter in units of eps and of the mean magnitude of the diagonal. */
const FIRST_JITTER = 10;

/** How {@link cholesky} is called. */
export interface Cholesky {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: CholeskyOptions<NoInfer<D>>,
  ): Promise<CholeskyFactor<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<CholeskyOptions<NoInfer<D>>>,
  ) => Promise<
    PreparedRoutine<[a: Tensor<D>], CholeskyFactor<D>, Tensor<D> | ResultTargets<CholeskyFactor<D>>>
  >;
}

/** See `choleskyBackward`; jitter counts as constant. */
const derivative: DerivativeRule<readonly [a: KnownValue, options?: CholeskyOptions<LinalgDType>]> =
  {
    vjp: (g, { args: [, { uplo } = {}], result }) => {
      const { factor: upstream } = g as unknown as Cotangents<'factor'>;
      if (upstream === undefined) return [];
      const factor = floats((result as unknown as Named<'factor'>).factor);
      const isUpper = uplo === 'upper';
      const share = async (): Promise<Tensor> => {
        const product = isUpper
          ? matmulOf(factor, upstream.triu(), { transposeB: true })
          : matmulOf(factor, upstream.tril(), { transposeA: true });
        const half = product.tril().add(product.tril(-1)).mul(0.5);
        const how = { uplo, transpose: !isUpper };
        const { x: left } = await solveTriangular(factor, floats(await half), how);
        const { x } = await solveTriangular(factor, left, { ...how, rightHandSides: 'rows' });
        return symmetric(x);
      };
      return [() => pendingOf(share)];
    },
  };

/**
 * The factor L of `a = L L^T` for symmetric positive definite matrices, or U of `a = U^T U` with `uplo: 'upper'`: LAPACK's
 * potrf.
 *
 * Shapes: a (..., n, n), factor the same. float32 or float64, any strides. Only the triangle `uplo` is read, and the factor is
 * that triangle.
 *
 * infos: k > 0 where the leading minor of order k is not positive (with jitter: still not), -1 where that triangle holds NaN or
 * infinity; the factor is NaN there. |a - L L^T| / |a| is at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors them on
 * several streams, and with jitter 'escalate' the call looks after each attempt which have a factor, off the event loop.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { cholesky } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { factor } = await cholesky(await tensor([[4, 2], [2, 10]], { device: 'cpu' }));
 * console.log(await factor.toNested()); // [ [ 2, 0 ], [ 1, 3 ] ]
 * ```
 */
export const cholesky: Cholesky = linalgFunction<Cholesky, CholeskyOptions<LinalgDType>>(
  {
    what: 'cholesky',
    matrices: ['a'],
    options: CHOLESKY_OPTIONS,
    results: ['factor', 'jitters', 'infos'],
    overwrites: [['overwriteA', 'a', 'factor']],
    waiting: ['jitter'],
    meaning: () => 'definite',
    derivative,
    finish: async ({ jitters }, { onJitter, signal }) => {
      if (jitters !== undefined && onJitter !== undefined)
        await reportJitters(jitters, onJitter, signal);
    },
    plan: (call, { uplo, jitter }) => {
      const { what, setting } = call;
      const n = call.order();
      const escalates = choice(what, 'jitter', jitter, ['none', 'escalate']) === 'escalate';
      call.run('cholesky', {
        a: call.operand('a'),
        factor: call.matrix('factor', n, n),
        jitters: call.numbers('jitters'),
        infos: call.integers('infos'),
        upper: Number(choice(what, 'uplo', uplo, ['lower', 'upper']) === 'upper'),
        attempts: escalates ? ATTEMPTS : 0,
        jitter: FIRST_JITTER * EPSILON[setting.dtype],
      });
    },
  },
  1,
);

async function reportJitters(
  jitters: Tensor,
  onJitter: (warning: JitterWarning) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const [entry, given] of (await jitters.toTypedArray({ signal })).entries()) {
    const jitter = Number(given);
    if (jitter === 0) continue;
    const message = `cholesky: ${jitter} was added to the diagonal of batch entry ${entry}, which is not positive definite as it is.`;
    onJitter({ code: 'JITTER_ADDED', entry, jitter, message });
  }
}
