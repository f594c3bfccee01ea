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

/** Options of slogdet. */
export interface SlogdetOptions<D extends LinalgDType> extends CallOptions, FactorOption {
  /** Where results go, by name. */
  readonly out?: ResultTargets<Slogdet<D>> | undefined;
}

const SLOGDET_OPTIONS: OptionNames<SlogdetOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...FACTOR_OPTION,
  out: true,
};

/** Determinants as sign and logarithm, `det a = sign exp(logAbsDet)`: one for each batch entry. */
export interface Slogdet<D extends LinalgDType> extends Infos {
  /** 1, -1, or 0 for a singular matrix. */
  readonly sign: Tensor<D>;
  /** log |det a|; -Infinity for a singular matrix. */
  readonly logAbsDet: Tensor<D>;
}

/** How {@link slogdet} is called. */
export interface SlogdetFunction {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: SlogdetOptions<NoInfer<D>>,
  ): Promise<Slogdet<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<SlogdetOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], Slogdet<D>>>;
}

/** `a^-T` of the logarithm (Giles 2008, section 2.2.4); the sign is constant. */
const derivative: DerivativeRule<readonly [a: KnownValue, options?: SlogdetOptions<LinalgDType>]> =
  {
    vjp: (g, { args: [a, options = {}] }) => {
      const { logAbsDet: upstream } = g as unknown as Cotangents<'logAbsDet'>;
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
 * Shapes: a (..., n, n); sign and logAbsDet have the batch axes alone. float32 or float64, any strides. An empty matrix has
 * determinant 1.
 *
 * infos: k > 0 where pivot k is exactly 0 (sign 0, logAbsDet -Infinity), or with Cholesky where the leading minor of order k is
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
 * import { slogdet } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { sign, logAbsDet } = await slogdet(await tensor([[0, 1], [1, 0]], { device: 'cpu' }));
 * console.log(await sign.toNested(), await logAbsDet.toNested()); // -1 0
 * ```
 */
export const slogdet: SlogdetFunction = linalgFunction<
  SlogdetFunction,
  SlogdetOptions<LinalgDType>
>(
  {
    what: 'slogdet',
    matrices: ['a'],
    options: SLOGDET_OPTIONS,
    results: ['sign', 'logAbsDet', 'infos'],
    meaning: (options) => factorChoice('slogdet', options).meaning,
    derivative,
    plan: (call, options) => {
      call.order();
      call.run('logdet', {
        a: call.operand('a'),
        signs: call.numbers('sign'),
        logs: call.numbers('logAbsDet'),
        infos: call.integers('infos'),
        ...factorChoice(call.what, options).flags,
      });
    },
  },
  1,
);
