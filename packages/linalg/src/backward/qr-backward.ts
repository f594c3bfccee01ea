import { own } from '@mercer/options';
import { lt, select, variable } from '@mercer/formula';
import { empty, map, type WorkOptions, type Tensor } from '@mercer/tensor';
import { readOptions, WORK_OPTIONS } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { solveTriangular } from '../solve-triangular.js';
import { assertGradients, assertLike, batchOf } from './backward-checks.js';
import type { BackwardOptions, LinalgGradients } from './backward-options.js';
import { productOnto } from './product-onto.js';
import { keepTriangle, POSITIONS } from './shape-gradient.js';

/** Gradients of the results of qr; at least one. */
export interface QrGradients<D extends LinalgDType> {
  readonly q?: Tensor<D> | undefined;
  readonly r?: Tensor<D> | undefined;
}

/** What qr left behind. */
export interface QrSaved<D extends LinalgDType> {
  readonly q: Tensor<D>;
  readonly r: Tensor<D>;
}

/** The lower triangle, mirrored. */
const MIRRORED = select(lt(variable('row'), variable('column')), variable('turned'), variable('x'));

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
export async function qrBackward<D extends LinalgDType>(
  gradients: QrGradients<D>,
  saved: QrSaved<NoInfer<D>>,
  options?: BackwardOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'qrBackward';
  const within = workOf(readOptions('qrBackward', options, WORK_OPTIONS));
  const given = own(gradients, 'q', 'r');
  const { q, r } = saved;
  const { device } = settingOf(what, { q, r });
  const [rows = 0, few = 0] = q.shape.slice(-2);
  const columns = r.shape.at(-1) ?? 0;
  assertLike(what, 'r', r, [...batchOf(q, 2), few, columns], q);
  assertGradients(what, given, { q, r });
  const { stream } = within;
  const a = empty([...batchOf(q, 2), rows, columns], { dtype: q.dtype, device, stream });
  if (a.size === 0) return { a };
  try {
    using first = columnsOf(r, 0, few);
    using dFirst = given.r && (await upperOf(given.r, few, within));
    using aFirst = columnsOf(a, 0, few);
    using dq = given.q && (await given.q.clone(within));
    if (columns === few) {
      await tall(dq, dFirst, { q, r: first }, aFirst, within);
      return { a };
    }
    using aRest = columnsOf(a, few, columns);
    if (given.r === undefined) {
      await tall(dq, dFirst, { q, r: first }, aFirst, within);
      await aRest.fill(0, within);
      return { a };
    }
    using rest = columnsOf(r, few, columns);
    using dRest = columnsOf(given.r, few, columns);
    await matmul(q, dRest, { out: aRest, ...within });
    // the other columns are q rest, and rest is q^T times them
    using inner = await matmul(rest, dRest, { transposeB: true, ...within });
    using all = await productOnto(q, inner, dq, within);
    await tall(all, dFirst, { q, r: first }, aFirst, within);
    return { a };
  } catch (error) {
    a.dispose();
    throw error;
  }
}

/** The case of at least as many rows as columns, written into `out`; `dq` is written over. */
async function tall<D extends LinalgDType>(
  dq: Tensor<D> | undefined,
  dr: Tensor<D> | undefined,
  { q, r }: QrSaved<D>,
  out: Tensor<D>,
  within: WorkOptions,
): Promise<void> {
  using m = await innerOf(dq, dr, { q, r }, within);
  using turned = m.transpose();
  const inputs = { x: m, turned };
  using mirrored = await map(MIRRORED, inputs, { dtype: q.dtype, ...within, indices: POSITIONS });
  using sides = await productOnto(q, mirrored, dq, within);
  const options = { uplo: 'upper', rightHandSides: 'rows', out, ...within } as const;
  const { infos } = await solveTriangular(r, sides, options);
  infos.dispose();
}

/** `r dr^T - dq^T q`. */
async function innerOf<D extends LinalgDType>(
  dq: Tensor<D> | undefined,
  dr: Tensor<D> | undefined,
  { q, r }: QrSaved<D>,
  within: WorkOptions,
): Promise<Tensor<D>> {
  if (dq === undefined) {
    if (dr === undefined) throw new Error('neither gradient is there');
    return matmul(r, dr, { transposeB: true, ...within });
  }
  const m = await matmul(dq, q, { transposeA: true, alpha: -1, ...within });
  if (dr === undefined) return m;
  try {
    return await matmul(r, dr, { transposeB: true, beta: 1, out: m, ...within });
  } catch (error) {
    m.dispose();
    throw error;
  }
}

/** The triangle of the first columns of dL/dr, a copy. */
async function upperOf<D extends LinalgDType>(
  dr: Tensor<D>,
  few: number,
  within: WorkOptions,
): Promise<Tensor<D>> {
  using first = columnsOf(dr, 0, few);
  using triangle = await first.clone(within);
  await keepTriangle(triangle, 'upper', within);
  return triangle.view();
}

function columnsOf<D extends LinalgDType>(x: Tensor<D>, from: number, to: number): Tensor<D> {
  return x.slice(...x.shape.slice(0, -1).map(() => null), [from, to]);
}
