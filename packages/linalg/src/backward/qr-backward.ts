import { lt, select, variable } from '@mercer/formula';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';
import type { LinalgDType } from '../checks.js';
import { elementwise, product, triangularSolution } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import type { PlannedCall } from '../planned-call.js';
import { batchOf, columnsOf, turned } from '../views.js';
import {
  assertGradients,
  assertLike,
  gradientName,
  gradientNames,
  gradientsOf,
} from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';
import { TRIANGLES } from './formulas.js';

/** Gradients of the results of qr; at least one. */
export interface QrGradients<D extends LinalgDType, T = Tensor<D>> {
  readonly q?: T | undefined;
  readonly r?: T | undefined;
}

/** What qr left behind. */
export interface QrSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly q: T;
  readonly r: T;
}

/** The lower triangle, mirrored. */
const MIRRORED = select(lt(variable('row'), variable('column')), variable('turned'), variable('x'));

const RESULTS = ['q', 'r'] as const;

/** How {@link qrBackward} is called. */
export interface QrBackward {
  <D extends LinalgDType>(
    gradients: QrGradients<D, TensorOperand<D>>,
    saved: QrSaved<D, TensorOperand<NoInfer<D>>>,
    options?: BackwardOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    gradients: QrGradients<D>,
    saved: QrSaved<NoInfer<D>>,
    options?: BackwardOptions,
  ) => Promise<
    PreparedGradients<[gradients: QrGradients<D>, saved: QrSaved<NoInfer<D>>], readonly ['a'], D>
  >;
}

/**
 * Gradient of `qr(a)`: given dL/dq and dL/dr, returns dL/da. For m >= n, with `M = r dr^T - dq^T q` and C the symmetric matrix
 * that has M's lower triangle, da is `(dq + q C) r^-T` (Walter and Lehmann 2012, "Algorithmic differentiation of linear algebra
 * functions with application in optimum experimental design"; Liao, Liu, Wang and Xiang 2019, "Differentiable programming
 * tensor networks"). For m < n the first m columns are factored like that and the others are q times columns of r (Roberts
 * and Roberts 2020, "QR and LQ decomposition matrix backpropagation algorithms for square, wide, and deep matrices").
 *
 * Conventions. da is the derivative at the signs that q and r have. What dr has below the diagonal is not looked at. There is
 * a derivative only where the first min(m, n) columns of a are linearly independent; elsewhere da is NaN.
 *
 * Shapes: q (..., m, k), r (..., k, n), their gradients the same, da (..., m, n), k = min(m, n).
 *
 * @param gradients of q, r, or both
 * @param saved the results of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { qr, qrBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const saved = await qr(await tensor([[3], [4]], { device: 'cpu' })); // r is -5
 * const upstream = await tensor([[1]], { device: 'cpu' });
 * const { a: da } = await qrBackward({ r: upstream }, saved);
 * console.log(da.shape); // [ 2, 1 ]
 * ```
 */
export const qrBackward = linalgFunction<QrBackward, BackwardOptions>(
  {
    what: 'qrBackward',
    options: BACKWARD_OPTIONS,
    read: ([gradients, { q, r }]: readonly [QrGradients<LinalgDType>, QrSaved<LinalgDType>]) => [
      { q, r, ...gradientsOf(gradients, RESULTS) },
    ],
    others: gradientNames(RESULTS),
    results: ['a'],
    plan: (call) => {
      const [q, r] = RESULTS.map((name) => call.view(name)) as [CallView, CallView];
      const [dq, dr] = RESULTS.map((name) => call.viewIfGiven(gradientName(name)));
      const [rows = 0, few = 0] = q.shape.slice(-2);
      const columns = r.shape.at(-1) ?? 0;
      const given = { q: call.tensor('q'), r: call.tensor('r') };
      assertLike(call.what, 'r', given.r, [...batchOf(q), few, columns], given.q);
      assertGradients(call, given);
      const a = call.result('a', [...batchOf(q), rows, columns]);
      if (rows * columns === 0 || given.q.size === 0) return;
      const first = { q, r: columnsOf(r, 0, few) };
      // what dr has below its diagonal belongs to no element of r
      const dFirst = dr && elementwise(call, TRIANGLES.upper, { x: columnsOf(dr, 0, few) });
      const aFirst = columnsOf(a, 0, few);
      if (columns === few) {
        tall(call, dq && copied(call, dq), dFirst, first, aFirst);
        return;
      }
      const aRest = columnsOf(a, few, columns);
      if (dr === undefined) {
        call.steps.fill(aRest, 0n);
        tall(call, dq && copied(call, dq), dFirst, first, aFirst);
        return;
      }
      // routines take matrices from their first element on
      const rest = copied(call, columnsOf(r, few, columns));
      const dRest = copied(call, columnsOf(dr, few, columns));
      call.steps.copy(product(call, q, dRest), aRest);
      // the other columns are q rest, and rest is q^T times them
      const all = onto(call, q, product(call, rest, turned(dRest)), dq && copied(call, dq));
      tall(call, all, dFirst, first, aFirst);
    },
  },
  2,
);

const copied = (call: PlannedCall, view: CallView): CallView =>
  call.steps.spreadCopy(view, view.shape);

/** `a b` added to `sum`, which is written over, or alone where there is none. */
const onto = (call: PlannedCall, a: CallView, b: CallView, sum: CallView | undefined): CallView =>
  product(call, a, b, { into: sum, beta: sum === undefined ? 0 : 1 });

/** The case of at least as many rows as columns, written into `into`; `dq` is written over. */
function tall(
  call: PlannedCall,
  dq: CallView | undefined,
  dr: CallView | undefined,
  { q, r }: { readonly q: CallView; readonly r: CallView },
  into: CallView,
): void {
  // r dr^T - dq^T q
  const ofR = dr && product(call, r, turned(dr));
  const m =
    dq === undefined
      ? ofR
      : product(call, turned(dq), q, { alpha: -1, into: ofR, beta: ofR === undefined ? 0 : 1 });
  if (m === undefined) throw new Error('neither gradient is there');
  const mirrored = elementwise(call, MIRRORED, { x: m, turned: turned(m) });
  const sides = onto(call, q, mirrored, dq);
  triangularSolution(call, r, turned(sides), { upper: true, into: turned(into) });
}
