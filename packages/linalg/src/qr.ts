import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { pendingOf, type DerivativeRule } from '@mercer/tensor/operation';
import { qrBackward } from './backward/qr-backward.js';
import type { LinalgDType } from './checks.js';
import type { Floats } from './derivative-parts.js';
import { linalgFunction } from './linalg-operation.js';
import {
  type CallOptions,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  CALL_OPTIONS,
} from './options.js';

/** Options of qr. */
export interface QrOptions<D extends LinalgDType> extends CallOptions {
  /** Where results go, by name. */
  readonly out?: ResultTargets<QrFactors<D>> | undefined;
}

const QR_OPTIONS: OptionNames<QrOptions<LinalgDType>> = { ...CALL_OPTIONS, out: true };

/** QR factors. */
export interface QrFactors<D extends LinalgDType> extends Infos {
  /** (..., m, k) with k = min(m, n): orthonormal columns. */
  readonly q: Tensor<D>;
  /** (..., k, n): zeros below the diagonal; the diagonal's signs are LAPACK's. */
  readonly r: Tensor<D>;
}

/** How {@link qr} is called. */
export interface Qr {
  <D extends LinalgDType>(a: Tensor<D>, options?: QrOptions<NoInfer<D>>): Promise<QrFactors<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<QrOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], QrFactors<D>>>;
}

/** See `qrBackward`. */
const derivative: DerivativeRule = {
  vjp: (g, { result }) => {
    const saved = result as unknown as Floats<'q' | 'r'>;
    const share = async (): Promise<Tensor> =>
      (await qrBackward(g as unknown as Partial<typeof saved>, saved)).a;
    return [() => pendingOf(share)];
  },
};

/**
 * The reduced factors of `a = q r` by Householder reflections: LAPACK's geqrf and orgqr.
 *
 * Shapes: a (..., m, n), q (..., m, k), r (..., k, n), k = min(m, n). float32 or float64, any strides.
 *
 * infos: -1 where a holds NaN or infinity; q and r are NaN there. |a - q r| / |a| and |q^T q - I| are at most
 * 30 max(m, n) eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors the
 * matrices on several streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { qr } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { q, r } = await qr(await tensor([[3, 1], [4, 2], [0, 5]], { device: 'cpu' }));
 * console.log(q.shape, r.shape); // [ 3, 2 ] [ 2, 2 ]
 * ```
 */
export const qr: Qr = linalgFunction<Qr, QrOptions<LinalgDType>>(
  {
    what: 'qr',
    matrices: ['a'],
    options: QR_OPTIONS,
    results: ['q', 'r', 'infos'],
    derivative,
    plan: (call) => {
      const a = call.operand('a');
      const few = Math.min(a.rows, a.columns);
      const q = call.matrix('q', a.rows, few);
      const r = call.matrix('r', few, a.columns);
      call.run('qr', { a, q, r, infos: call.integers('infos') });
    },
  },
  1,
);
