import { abs, div, eq, le, mul, select, sqrt, sub, variable } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import { addSumTo, type CallView } from '@mercer/tensor/operation';
import { LARGEST, type LinalgDType } from './checks.js';
import { elementwise, product, scratch } from './compose.js';
import { linalgFunction } from './linalg-operation.js';
import { matrixOperand } from './operand.js';
import {
  type CallOptions,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  CALL_OPTIONS,
} from './options.js';
import { asRow } from './views.js';

/** Options of refineEigenbasis. */
export interface RefineEigenbasisOptions<D extends LinalgDType> extends CallOptions {
  /** How often the basis is multiplied by a and made orthonormal again, from 1 to 1000; default 1. */
  readonly iterations?: number | undefined;
  /** Where results go, by name. */
  readonly out?: ResultTargets<RefinedEigenbasis<D>> | undefined;
}

const REFINE_EIGENBASIS_OPTIONS: OptionNames<RefineEigenbasisOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  iterations: true,
  out: true,
};

/** A basis in which matrices are nearer to diagonal. */
export interface RefinedEigenbasis<D extends LinalgDType> extends Infos {
  /** (..., n): the diagonal of `vectors^T a vectors`, in the order of the vectors. */
  readonly values: Tensor<D>;
  /** (..., n, n): orthonormal columns. */
  readonly vectors: Tensor<D>;
  /** (...): what is left, `|a vectors - vectors diag(values)| / |a|` in Frobenius norms, 0 for zeros. */
  readonly errors: Tensor<D>;
}

/** How {@link refineEigenbasis} is called. */
export interface RefineEigenbasis {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    vectors: TensorOperand<NoInfer<D>>,
    options?: RefineEigenbasisOptions<NoInfer<D>>,
  ): Promise<RefinedEigenbasis<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    vectors: Tensor<NoInfer<D>>,
    options?: RoutinePrepareOptions<RefineEigenbasisOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>, vectors: Tensor<D>], RefinedEigenbasis<D>>>;
}

const v = variable;
const TIMES = mul(v('x'), v('y'));
const OFF = sub(v('y'), mul(v('x'), v('value')));
const ABSOLUTE = abs(v('x'));
// relative to the sum of the elements, whose squares may be beyond the dtype
const RELATIVE = select(eq(v('size'), 0), 0, div(v('x'), v('size')));
const SQUARE = mul(RELATIVE, RELATIVE);
const RATIO = select(eq(v('whole'), 0), 0, sqrt(div(v('left'), v('whole'))));
const INFO = select(eq(v('bad'), 0), 0, -1);
const BAD = select(le(abs(v('x')), v('largest')), select(le(abs(v('y')), v('largest')), 0, 1), 1);
const KEPT = select(eq(v('info'), 0), v('x'), NaN);

/**
 * Takes a basis nearer to the eigenvectors of symmetric matrices by orthogonal iteration: `a vectors`, orthonormal again by QR. From a basis
 * that was one of a matrix near a, an iteration costs two products and a QR factorisation, and waits for nothing.
 *
 * Shapes: a and vectors (..., n, n), whose batch axes broadcast; values (..., n). float32 or float64, any strides. All of a is read.
 *
 * Let the columns come in the order of falling eigenvalues: in a step the share of vector j in column i > j falls by the ratio of their eigenvalues, and
 * columns in another order first turn round.
 *
 * infos: -1 where a or vectors hold NaN or infinity, and values and vectors are NaN.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { refineEigenbasis } from '@mercer/linalg';
 * import { eye, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const a = await tensor([[2, 0.01], [0.01, 1]], where);
 * const { values } = await refineEigenbasis(a, await eye(2, where), { iterations: 20 });
 * console.log((await values.toNested<number[]>()).map((one) => one.toFixed(4))); // [ '2.0001', '0.9999' ]
 * ```
 */
export const refineEigenbasis: RefineEigenbasis = linalgFunction<
  RefineEigenbasis,
  RefineEigenbasisOptions<LinalgDType>
>(
  {
    what: 'refineEigenbasis',
    matrices: ['a', 'vectors'],
    options: REFINE_EIGENBASIS_OPTIONS,
    results: ['values', 'vectors', 'errors', 'infos'],
    plan: (call, options) => {
      const { what, setting, steps } = call;
      const { batchShape, dtype } = setting;
      const n = call.order();
      if (call.order('vectors') !== n) {
        throw new MercerError(
          'SHAPE_MISMATCH',
          `${what}: a is ${call.tensor('a').label} and vectors is ${call.tensor('vectors').label}. Pass a basis of the same order.`,
        );
      }
      const iterations = iterationsOf(what, options.iterations);
      const values = call.rowMajorResult('values', [...batchShape, n]);
      const result = call.matrix('vectors', n, n);
      const errors = call.numbers('errors');
      const infos = call.integers('infos');
      if (n === 0) {
        steps.fill(errors, 0n);
        steps.fill(infos, 0n);
        return;
      }
      const [a, given] = [call.view('a'), call.view('vectors')];
      const whole = [...batchShape, n, n];
      const one = [...batchShape, 1, 1];
      const sum = (from: CallView, shape = one): CallView => {
        const into = scratch(call, shape);
        addSumTo(steps, from, shape, into);
        return into;
      };
      const flat = (view: CallView): CallView => ({
        ...view,
        shape: batchShape,
        strides: view.strides.slice(0, batchShape.length),
      });
      const [work, q, r] = [scratch(call, whole), scratch(call, whole), scratch(call, whole)];
      const largest = LARGEST[dtype];
      elementwise(call, BAD, { x: a, y: given }, { into: work, parameters: { largest } });
      elementwise(call, INFO, { bad: flat(sum(work)) }, { into: infos });
      const unused = steps.scratchMemory({ shape: batchShape, dtype: 'int32' });
      let from = given;
      for (let i = 0; i < iterations; i++) {
        product(call, a, from, { into: work });
        const of = (view: CallView) => matrixOperand(view, batchShape);
        call.run('qr', { a: of(work), q: of(q), r: of(r), infos: unused });
        from = q;
      }
      product(call, a, q, { into: work });
      elementwise(call, TIMES, { x: q, y: work }, { into: r });
      addSumTo(steps, r, [...batchShape, 1, n], asRow(values));
      elementwise(call, OFF, { x: q, y: work, value: asRow(values) }, { into: r });
      elementwise(call, ABSOLUTE, { x: a }, { into: work });
      const size = sum(work);
      const squares = (x: CallView): CallView => {
        elementwise(call, SQUARE, { x, size }, { into: work });
        return flat(sum(work));
      };
      const ratio = { left: squares(r), whole: squares(a) };
      elementwise(call, RATIO, ratio, { into: errors });
      const info = { ...infos, shape: one, strides: [...infos.strides, 1, 1] };
      elementwise(call, KEPT, { x: q, info }, { into: result.memory });
      const row = asRow(values);
      elementwise(call, KEPT, { x: row, info }, { into: row });
    },
  },
  2,
);

/** @throws MercerError INVALID_ARGUMENT */
function iterationsOf(what: string, iterations: number | undefined = 1): number {
  if (Number.isInteger(iterations) && iterations >= 1 && iterations <= 1000) return iterations;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: iterations is ${describeValue(iterations)}. Pass an integer from 1 to 1000.`,
  );
}
