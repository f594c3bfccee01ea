import type { OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import {
  zerosLike,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { equalSingularValues, spectrumTolerance, warnDegenerate } from './backward/spectrum.js';
import type { LinalgDType } from './checks.js';
import {
  asColumn,
  asRow,
  quotient,
  sumOf,
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
  CALL_OPTIONS,
} from './options.js';

/** Options of svd. */
export interface SvdOptions<D extends LinalgDType> extends CallOptions {
  /** Where results go, by name. */
  readonly out?: ResultTargets<SingularValues<D>> | undefined;
}

const SVD_OPTIONS: OptionNames<SvdOptions<LinalgDType>> = { ...CALL_OPTIONS, out: true };

/** The singular value decomposition. */
export interface SingularValues<D extends LinalgDType> extends Infos {
  /** (..., m, k) with k = min(m, n): orthonormal columns. */
  readonly u: Tensor<D>;
  /** (..., k), descending, none negative. */
  readonly s: Tensor<D>;
  /** (..., k, n): orthonormal rows. */
  readonly vh: Tensor<D>;
}

/** How {@link svd} is called. */
export interface Svd {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: SvdOptions<NoInfer<D>>,
  ): Promise<SingularValues<D>>;
  /** Loads what such a call needs, and gives a function whose promise resolves when all is enqueued: the library waits. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<SvdOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], Promise<SingularValues<D>>>>;
}

type Parts = 'u' | 's' | 'vh';

/** See `svdBackward`. */
const derivative: DerivativeRule<readonly [a: KnownValue]> = {
  vjp: (g, { args: [a], result }) => [
    () =>
      a.shape.includes(0)
        ? zerosLike(a)
        : gradientOf(g as unknown as Cotangents<Parts>, result as unknown as Named<Parts>),
  ],
  noteUse: (used, result) => {
    const given = used as Cotangents<Parts>;
    if (given.u === undefined && given.vh === undefined) return;
    const { u, s, vh } = result as Named<Parts>;
    const extent = Math.max(u.shape.at(-2) ?? 0, vh.shape.at(-1) ?? 0);
    warnDegenerate(s, equalSingularValues('svd', extent, s.dtype as LinalgDType, {}));
  },
};

/** `(u middle + (du - u J) / s) vh + u ((d(vh) - K^T vh) / s)`, with the middle in partial fractions. */
function gradientOf(
  { u: du, s: ds, vh: dvh }: Cotangents<Parts>,
  { u, s, vh }: Named<Parts>,
): Value {
  const [rows = 0, few = 0] = u.shape.slice(-2);
  const columns = vh.shape.at(-1) ?? 0;
  const share = spectrumTolerance('svd', {}, Math.max(rows, columns), s.dtype as LinalgDType);
  const [row, column] = [asRow(s), asColumn(s)];
  const bound = column.max(-2, { keepDims: true }).mul(share);
  const j = du && matmulOf(u, du, { transposeA: true });
  const k = dvh && matmulOf(vh, dvh, { transposeB: true });
  const turns = [j, k].map((x) => x?.sub(x.transpose()).mul(0.5));
  const [ofJ, ofK] = turns;
  const half = sumOf(ofJ, ofK);
  const other = sumOf(ofJ, ofK?.neg());
  const middle = sumOf(
    half && quotient(half, row.sub(column), bound),
    other && quotient(other, row.add(column), bound),
  );
  let left = sumOf(ds && u.mul(asRow(ds)), middle && matmulOf(u, middle));
  if (du !== undefined && j !== undefined && rows > few)
    left = sumOf(left, quotient(du.sub(matmulOf(u, j)), row, bound));
  const whole = matmulOf(left ?? zerosLike(u), vh);
  if (dvh === undefined || k === undefined || columns === few) return whole;
  const outside = dvh.sub(matmulOf(k, vh, { transposeA: true }));
  return whole.add(matmulOf(u, quotient(outside, column, bound)));
}

/**
 * The reduced singular value decomposition `a = u diag(s) vh`, by divide and conquer: LAPACK's gesdd.
 *
 * Shapes: a (..., m, n), u (..., m, k), s (..., k), vh (..., k, n), k = min(m, n). float32 or float64, any strides.
 *
 * infos: k > 0 where the iteration did not converge, -1 where a holds NaN or infinity; the results are NaN there.
 * |a - u diag(s) vh| / |a|, |u^T u - I| and |vh vh^T - I| are at most 30 max(m, n) eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER waits inside
 * this call, which runs on threads of its own: there the promise resolves when the results are ready.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { svd } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { s } = await svd(await tensor([[3, 0], [0, -4]], { device: 'cpu' }));
 * console.log(await s.toNested()); // [ 4, 3 ]
 * ```
 */
export const svd: Svd = linalgFunction<Svd, SvdOptions<LinalgDType>>(
  {
    what: 'svd',
    matrices: ['a'],
    options: SVD_OPTIONS,
    results: ['u', 's', 'vh', 'infos'],
    derivative,
    plan: (call) => {
      const a = call.operand('a');
      const few = Math.min(a.rows, a.columns);
      const u = call.matrix('u', a.rows, few);
      const s = call.column('s', few);
      const vh = call.matrix('vh', few, a.columns);
      call.run('svd', { a, u, s, vh, infos: call.integers('infos') });
    },
  },
  1,
  true,
);
