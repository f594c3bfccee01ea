import { own, type OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import { pendingOf, type DerivativeRule, type KnownValue } from '@mercer/tensor/operation';
import type { LinalgDType } from './checks.js';
import { floats, type Cotangents } from './derivative-parts.js';
import { factorChoice } from './factor-choice.js';
import { inv } from './inv.js';
import { linalgFunction } from './linalg-operation.js';
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

/** Options of logdet. */
export interface LogdetOptions<D extends LinalgDType> extends CallOptions, FactorOption {
  /** Where results go, by name. */
  readonly out?: ResultTargets<Logdet<D>> | undefined;
}

const LOGDET_OPTIONS: OptionNames<LogdetOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...FACTOR_OPTION,
  out: true,
};

/** Determinants as sign and logarithm, `det a = sign exp(logAbs)`: one for each batch entry. */
export interface Logdet<D extends LinalgDType> extends Infos {
  /** 1, -1, or 0 for a singular matrix. */
  readonly sign: Tensor<D>;
  /** log |det a|; -Infinity for a singular matrix. */
  readonly logAbs: Tensor<D>;
}

/** How {@link logdet} is called. */
export interface LogdetFunction {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: LogdetOptions<NoInfer<D>>,
  ): Promise<Logdet<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<LogdetOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], Logdet<D>>>;
}

/** `a^-T` of the logarithm (Giles 2008, section 2.2.4); the sign is constant. */
const derivative: DerivativeRule<readonly [a: KnownValue, options?: LogdetOptions<LinalgDType>]> = {
  vjp: (g, { args: [a, options = {}] }) => {
    const { logAbs: upstream } = g as unknown as Cotangents<'logAbs'>;
    if (upstream === undefined) return [];
    const share = async (): Promise<Tensor> => {
      const { inverse } = await inv(floats(a), own(options, 'method', 'uplo'));
      return inverse.transpose().mul(floats(upstream.contiguous().reshape([...a.shape.slice(0, -2), 1, 1]))); // prettier-ignore
    };
    return [() => pendingOf(share)];
  },
};

/**
 * Sign and logarithm of the magnitude of determinants, numpy's `linalg.slogdet`: from LU factors (LAPACK's getrf), or from
 * Cholesky factors (potrf) with `method: 'cholesky'`, where the sign is 1. The logarithms are summed in float64.
 *
 * Shapes: a (..., n, n); sign and logAbs have the batch axes alone. float32 or float64, any strides. An empty matrix has
 * determinant 1.
 *
 * infos: k > 0 where pivot k is exactly 0 (sign 0, logAbs -Infinity), or with Cholesky where the leading minor of order k is
 * not positive (NaN); -1 where a holds NaN or infinity (NaN).
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors the
 * matrices on several streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws SingularMatrixError, NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { logdet } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { sign, logAbs } = await logdet(await tensor([[0, 1], [1, 0]], { device: 'cpu' }));
 * console.log(await sign.toNested(), await logAbs.toNested()); // -1 0
 * ```
 */
export const logdet: LogdetFunction = linalgFunction<LogdetFunction, LogdetOptions<LinalgDType>>(
  {
    what: 'logdet',
    matrices: ['a'],
    options: LOGDET_OPTIONS,
    results: ['sign', 'logAbs', 'infos'],
    meaning: (options) => factorChoice('logdet', options).meaning,
    derivative,
    plan: (call, options) => {
      call.order();
      call.run('logdet', {
        a: call.operand('a'),
        signs: call.numbers('sign'),
        logs: call.numbers('logAbs'),
        infos: call.integers('infos'),
        ...factorChoice(call.what, options).flags,
      });
    },
  },
  1,
);
