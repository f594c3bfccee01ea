import { own } from '@mercer/options';
import { abs, div, eq, le, max, mul, select, sub, variable } from '@mercer/formula';
import { empty, map, type Tensor, type WorkOptions } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { orderOf, settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { assertGradients, assertLike, batchOf } from './backward-checks.js';
import type { LinalgGradients } from './backward-options.js';
import { POSITIONS, symmetricPart } from './shape-gradient.js';
import {
  asColumn,
  asRow,
  oneValue,
  reportDegenerate,
  spectrumTolerance,
  type SpectrumOptions,
  SPECTRUM_OPTIONS,
} from './spectrum.js';

/** Gradients of the results of eigh; at least one. */
export interface EighGradients<D extends LinalgDType> {
  readonly values?: Tensor<D> | undefined;
  readonly vectors?: Tensor<D> | undefined;
}

/** What eigh left behind. */
export interface EighSaved<D extends LinalgDType> {
  readonly values: Tensor<D>;
  readonly vectors: Tensor<D>;
}

const [m, turned, dw] = [variable('m'), variable('turned'), variable('dw')];
const [wi, wj, low, high] = [variable('wi'), variable('wj'), variable('low'), variable('high')];
const bound = mul(variable('tolerance'), max(abs(low), abs(high)));
const OFF_DIAGONAL = select(
  le(abs(sub(wj, wi)), bound),
  0,
  div(sub(m, turned), mul(2, sub(wj, wi))),
);
const MIDDLE = select(eq(variable('row'), variable('column')), dw, OFF_DIAGONAL);
const SCALED = mul(m, dw);

/**
 * Gradient of `eigh(a)`: given dL/d(values) and dL/d(vectors), returns dL/da. With M = V^T d(vectors), da is
 * `V (diag(d(values)) + K) V^T`, `K[i, j] = (M[i, j] - M[j, i]) / (2 (w[j] - w[i]))` (Giles 2008, section 3.1, for symmetric
 * matrices).
 *
 * Conventions. da is symmetric: the derivative by an element of the triangle that the forward call read is da[i, i] on the
 * diagonal and 2 da[i, j] beside it. Eigenvectors are determined up to their signs, and up to a rotation where eigenvalues are
 * equal; da is the derivative at the signs in `vectors`, and means something for a loss that does not depend on that choice.
 * Where eigenvalues differ by at most `tolerance` times the largest magnitude of the spectrum (default n eps), K is 0: exact for
 * such a loss, and never NaN; `onDegenerate` tells. A matrix without eigenvalues has a NaN gradient.
 *
 * Shapes: values and its gradient (..., n), vectors and its gradient (..., n, n), da (..., n, n).
 *
 * @param gradients of the values, the vectors, or both
 * @param saved the results of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { eigh, eighBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { values, vectors } = await eigh(await tensor([[5, 0], [0, 3]], { device: 'cpu' }));
 * const upstream = await tensor([1, 0], { device: 'cpu' }); // of the smaller eigenvalue
 * const { a: da } = await eighBackward({ values: upstream }, { values, vectors });
 * console.log(await da.toNested()); // [ [ 0, 0 ], [ 0, 1 ] ]
 * ```
 */
export async function eighBackward<D extends LinalgDType>(
  gradients: EighGradients<D>,
  saved: EighSaved<NoInfer<D>>,
  options?: SpectrumOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'eighBackward';
  options = readOptions(what, options, SPECTRUM_OPTIONS);
  const given = own(gradients, 'values', 'vectors');
  const { values, vectors } = saved;
  const { onDegenerate } = options;
  const within = workOf(options);
  const { dtype, device } = settingOf(what, { vectors });
  const n = orderOf(what, 'vectors', vectors);
  assertLike(what, 'values', values, [...batchOf(vectors, 2), n], vectors);
  assertGradients(what, given, { values, vectors });
  const share = spectrumTolerance(what, options, n, dtype);
  if (vectors.size === 0) return { a: empty(vectors.shape, { dtype: vectors.dtype, device }) };
  using product = await inEigenbasis(given, { values, vectors }, share, within);
  using whole = await matmul(product, vectors, { transposeB: true, ...within });
  using a = await symmetricPart(whole, within);
  if (onDegenerate !== undefined && given.vectors !== undefined) {
    const isEqual = (w: ArrayLike<number>, i: number, j: number): boolean =>
      i < j && Math.abs((w[j] ?? NaN) - (w[i] ?? NaN)) <= share * largestOf(w);
    await reportDegenerate(
      values,
      { what, isEqual, reason: 'equal eigenvalues' },
      onDegenerate,
      within,
    );
  }
  return { a: a.view() };
}

/** `V (diag(d(values)) + K)`. */
async function inEigenbasis<D extends LinalgDType>(
  gradients: EighGradients<D>,
  { values, vectors }: EighSaved<D>,
  share: number,
  within: WorkOptions,
): Promise<Tensor<D>> {
  const { dtype } = vectors;
  using slopes = gradients.values === undefined ? undefined : asRow(gradients.values);
  if (gradients.vectors === undefined) {
    if (slopes === undefined) throw new Error('neither gradient is there');
    return await map(SCALED, { m: vectors, dw: slopes }, { dtype, ...within });
  }
  using inner = await matmul(vectors, gradients.vectors, { transposeA: true, ...within });
  using transposed = inner.transpose();
  using rowValues = asRow(values);
  using columnValues = asColumn(values);
  using lowest = oneValue(values, 0);
  using highest = oneValue(values, (values.shape.at(-1) ?? 1) - 1);
  using middle = await map(
    slopes === undefined ? OFF_DIAGONAL : MIDDLE,
    {
      m: inner,
      turned: transposed,
      wi: columnValues,
      wj: rowValues,
      low: lowest,
      high: highest,
      ...(slopes === undefined ? {} : { dw: slopes }),
    },
    { dtype, ...within, parameters: { tolerance: share }, indices: POSITIONS },
  );
  return await matmul(vectors, middle, within);
}

/** The largest magnitude of ascending values. */
function largestOf(w: ArrayLike<number>): number {
  return Math.max(Math.abs(w[0] ?? 0), Math.abs(w[w.length - 1] ?? 0));
}
