import { abs, div, eq, le, max, mul, select, sub, variable } from '@mercer/formula';
import { own } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';
import type { LinalgDType } from '../checks.js';
import { elementwise, product } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import type { PlannedCall } from '../planned-call.js';
import { asColumn, asRow, oneValue, turned } from '../views.js';
import {
  assertGradients,
  assertLike,
  gradientName,
  gradientNames,
  gradientsOf,
} from './backward-checks.js';
import type { LinalgGradients, PreparedGradients } from './backward-options.js';
import { SYMMETRIC_PART } from './formulas.js';
import {
  equalEigenvalues,
  reportDegenerate,
  spectrumTolerance,
  type SpectrumOptions,
  SPECTRUM_OPTIONS,
} from './spectrum.js';

/** Gradients of the results of eigh; at least one. */
export interface EighGradients<D extends LinalgDType, T = Tensor<D>> {
  readonly values?: T | undefined;
  readonly vectors?: T | undefined;
}

/** What eigh left behind. */
export interface EighSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly values: T;
  readonly vectors: T;
}

const [m, mTurned, dw] = [variable('m'), variable('turned'), variable('dw')];
const [wi, wj, low, high] = [variable('wi'), variable('wj'), variable('low'), variable('high')];
const bound = mul(variable('tolerance'), max(abs(low), abs(high)));
const OFF_DIAGONAL = select(
  le(abs(sub(wj, wi)), bound),
  0,
  div(sub(m, mTurned), mul(2, sub(wj, wi))),
);
const MIDDLE = select(eq(variable('row'), variable('column')), dw, OFF_DIAGONAL);
const SCALED = mul(m, dw);

/** How {@link eighBackward} is called. */
export interface EighBackward {
  <D extends LinalgDType>(
    gradients: EighGradients<D, TensorOperand<D>>,
    saved: EighSaved<D, TensorOperand<NoInfer<D>>>,
    options?: SpectrumOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    gradients: EighGradients<D>,
    saved: EighSaved<NoInfer<D>>,
    options?: SpectrumOptions,
  ) => Promise<
    PreparedGradients<
      [gradients: EighGradients<D>, saved: EighSaved<NoInfer<D>>],
      readonly ['a'],
      D
    >
  >;
}

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
export const eighBackward = linalgFunction<EighBackward, SpectrumOptions>(
  {
    what: 'eighBackward',
    options: SPECTRUM_OPTIONS,
    read: ([gradients, { values, vectors }]: readonly [
      EighGradients<LinalgDType>,
      EighSaved<LinalgDType>,
    ]) => [{ vectors, values, ...gradientsOf(gradients, ['values', 'vectors']) }],
    others: ['values', ...gradientNames(['values', 'vectors'])],
    results: ['a'],
    plan: (call, options) => {
      const { what, setting } = call;
      const vectors = call.tensor('vectors');
      const n = call.order();
      const values = call.tensor('values');
      assertLike(what, 'values', values, [...vectors.shape.slice(0, -2), n], vectors);
      assertGradients(call, { values, vectors });
      const share = spectrumTolerance(what, options, n, setting.dtype);
      const into = call.result('a', vectors.shape);
      if (vectors.size === 0) return;
      const v = call.view('vectors');
      const x = product(call, inEigenbasis(call, v, share), turned(v));
      elementwise(call, SYMMETRIC_PART, { x, turned: turned(x) }, { into });
    },
    finish: (tensors, options) => {
      const { onDegenerate } = options;
      const { values } = own(tensors, 'values');
      const given = own(tensors, gradientName('vectors'))[gradientName('vectors')];
      if (onDegenerate === undefined || given === undefined || values === undefined)
        return undefined;
      const rule = equalEigenvalues('eighBackward', values, options);
      return reportDegenerate(values as Tensor<LinalgDType>, rule, onDegenerate, options);
    },
  },
  2,
);

/** `V (diag(d(values)) + K)`. */
function inEigenbasis(call: PlannedCall, vectors: CallView, share: number): CallView {
  const [dValues, dVectors] = ['values', 'vectors'].map((name) =>
    call.viewIfGiven(gradientName(name)),
  );
  const slopes = dValues && asRow(dValues);
  if (dVectors === undefined) return elementwise(call, SCALED, { m: vectors, dw: slopes });
  const inner = product(call, turned(vectors), dVectors);
  const values = call.view('values');
  const middle = elementwise(
    call,
    slopes === undefined ? OFF_DIAGONAL : MIDDLE,
    {
      m: inner,
      turned: turned(inner),
      wi: asColumn(values),
      wj: asRow(values),
      low: oneValue(values, 0),
      high: oneValue(values, (values.shape.at(-1) ?? 1) - 1),
      dw: slopes,
    },
    { parameters: { tolerance: share } },
  );
  return product(call, vectors, middle);
}
