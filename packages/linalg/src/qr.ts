import type { OptionNames } from '@mercer/options';
import { concat, type Tensor, type TensorOperand } from '@mercer/tensor';
import {
  pendingOf,
  zerosLike,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import type { LinalgDType } from './checks.js';
import { floats, sumOf, type Cotangents, type Named } from './derivative-parts.js';
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
import { solveTriangular } from './solve-triangular.js';

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
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    options?: QrOptions<NoInfer<D>>,
  ): Promise<QrFactors<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<QrOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], QrFactors<D>>>;
}

type Parts = 'q' | 'r';

/** See `qrBackward`. */
const derivative: DerivativeRule<readonly [a: KnownValue]> = {
  vjp: (g, { args: [a], result }) => [
    () =>
      a.shape.includes(0)
        ? zerosLike(a)
        : pendingOf(() =>
            gradientOf(g as unknown as Cotangents<Parts>, result as unknown as Named<Parts>),
          ),
  ],
};

async function gradientOf(
  { q: dq, r: dr }: Cotangents<Parts>,
  { q, r }: Named<Parts>,
): Promise<Tensor> {
  const few = q.shape.at(-1) ?? 0;
  const rest = (r.shape.at(-1) ?? 0) - few;
  if (rest === 0) return tall(dq, dr, { q, r });
  const [first, last] = columnsOf(r, few);
  if (dr === undefined) {
    const widths = r.shape.map((_, axis) => [0, axis === r.shape.length - 1 ? rest : 0] as const);
    return (await tall(dq, dr, { q, r: first })).pad(widths);
  }
  const [dFirst, dLast] = columnsOf(dr, few);
  // the other columns are q last, and last is q^T times them
  const all = sumOf(dq, matmulOf(q, matmulOf(last, dLast, { transposeB: true })));
  const left = await tall(all, dFirst, { q, r: first });
  return concat([left, matmulOf(q, dLast) as Tensor], -1);
}

/** Of at least as many rows as columns. */
async function tall(
  dq: Value | undefined,
  dr: Value | undefined,
  { q, r }: Readonly<Record<Parts, Value>>,
): Promise<Tensor> {
  const inner = sumOf(
    dr && matmulOf(r, dr.triu(), { transposeB: true }),
    dq && matmulOf(dq, q, { transposeA: true, alpha: -1 }),
  );
  if (inner === undefined) throw new Error('neither gradient is there');
  const mirrored = inner.tril().add(inner.tril(-1).transpose());
  const sides = await sumOf(matmulOf(q, mirrored), dq);
  const { x } = await solveTriangular(floats(r), floats(sides as Value), {
    uplo: 'upper',
    rightHandSides: 'rows',
  });
  return x;
}

/** The first columns, and the others. */
const columnsOf = (x: KnownValue, count: number): readonly [Value, Value] =>
  x.split([count, (x.shape.at(-1) ?? 0) - count], -1) as unknown as readonly [Value, Value];

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
