import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { choice, EPSILON, orderOf, settingOf, type LinalgDType } from './checks.js';
import { checkInfos } from './infos.js';
import { matrixOperand } from './operand.js';
import {
  type CallOptions,
  type Infos,
  type TriangleOption,
  CALL_OPTIONS,
  TRIANGLE_OPTION,
} from './options.js';
import { assertOverwritable, withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

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
  /** Where the factor goes; not together with overwriteA. */
  readonly out?: Tensor<D> | undefined;
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
export async function cholesky<D extends LinalgDType>(
  a: Tensor<D>,
  options?: CholeskyOptions<NoInfer<D>>,
): Promise<CholeskyFactor<D>> {
  const what = 'cholesky';
  options = readOptions(what, options, CHOLESKY_OPTIONS);
  const { stream, overwriteA = false, out, onJitter } = options;
  const setting = settingOf(what, { a });
  const { batchShape, dtype } = setting;
  const n = orderOf(what, 'a', a);
  const upper = choice(what, 'uplo', options.uplo, ['lower', 'upper']) === 'upper';
  const jitter = choice(what, 'jitter', options.jitter, ['none', 'escalate']);
  if (overwriteA && out !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: both out and overwriteA are given. Choose one place for the factor.`,
    );
  }
  if (overwriteA) assertOverwritable(setting, 'a', a, []);
  return withOutputs(setting, stream, async (outputs) => {
    const factor = overwriteA ? outputs.alias(a) : outputs.given(out, [n, n], [a]);
    const jitters = outputs.perEntry<D>();
    const infos = outputs.integers();
    const args = {
      a: matrixOperand(a, batchShape),
      factor: matrixOperand(factor, batchShape),
      jitters,
      infos,
      upper: Number(upper),
      attempts: jitter === 'escalate' ? ATTEMPTS : 0,
      jitter: FIRST_JITTER * EPSILON[dtype],
    };
    await runRoutine('cholesky', setting, args, options);
    if (options.checkErrors === true) await checkInfos(what, infos, 'definite', options);
    if (onJitter !== undefined) await reportJitters(jitters, onJitter, options);
    return { factor, jitters, infos };
  });
}

async function reportJitters(
  jitters: Tensor<LinalgDType>,
  onJitter: (warning: JitterWarning) => void,
  { signal }: CallOptions,
): Promise<void> {
  for (const [entry, jitter] of (await jitters.toTypedArray({ signal })).entries()) {
    if (jitter === 0) continue;
    const message = `cholesky: ${jitter} was added to the diagonal of batch entry ${entry}, which is not positive definite as it is.`;
    onJitter({ code: 'JITTER_ADDED', entry, jitter, message });
  }
}
