import { add, lt, mul, select, variable, type RealExpr } from '@mercer/formula';
import { describeValue, own, type OptionNames } from '@mercer/options';
import { map, MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import {
  heard,
  notDifferentiable,
  pending,
  pendingOf,
  promisesTraced,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { choice, EPSILON, type LinalgDType } from './checks.js';
import { asColumn, asRow, floats, symmetric, type Cotangents } from './derivative-parts.js';
import { dividedDifference } from './divided-difference.js';
import { eigh } from './eigh.js';
import { linalgFunction } from './linalg-operation.js';
import { matmulOf } from './matmul.js';
import {
  type CallOptions,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  type TriangleOption,
  CALL_OPTIONS,
  TRIANGLE_OPTION,
} from './options.js';

/** Options of matrixPower. */
export interface MatrixPowerOptions<D extends LinalgDType> extends CallOptions, TriangleOption {
  /** 'eigh' (default) for any power, or 'newton': products only, for powers -1/k with an integer k of at least 1. */
  readonly method?: 'eigh' | 'newton' | undefined;
  /** What is raised is a + eps I; at least 0, default 0. */
  readonly eps?: number | undefined;
  /** Write the power into a's memory; the result is another handle for it. */
  readonly overwriteA?: boolean | undefined;
  /** Where the power goes, or results by name; not together with overwriteA. */
  readonly out?: Tensor<D> | ResultTargets<MatrixPower<D>> | undefined;
}

const MATRIX_POWER_OPTIONS: OptionNames<MatrixPowerOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...TRIANGLE_OPTION,
  method: true,
  eps: true,
  overwriteA: true,
  out: true,
};

/** Powers of matrices. */
export interface MatrixPower<D extends LinalgDType> extends Infos {
  /** (..., n, n), symmetric up to rounding. */
  readonly result: Tensor<D>;
  /**
   * How far off the result may be, one number for each batch entry. For 'eigh' the bound on its relative error that follows
   * from n eps on the eigenvalues, `n eps (1 + |a| max|f'| / max|f|)`. For 'newton' what is left of the equation,
   * `max|result^k (a + eps I) - I|`, as the iteration sees it.
   */
  readonly errors: Tensor<D>;
}

/** How {@link matrixPower} is called. */
export interface MatrixPowerFunction {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    power: number,
    options?: MatrixPowerOptions<NoInfer<D>>,
  ): Promise<MatrixPower<D>>;
  /** Loads what such a call needs, and gives a function whose promise resolves when all is enqueued: the library waits. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    power: number,
    options?: RoutinePrepareOptions<MatrixPowerOptions<NoInfer<D>>>,
  ) => Promise<
    PreparedRoutine<
      [a: Tensor<D>, power: number],
      Promise<MatrixPower<D>>,
      Tensor<D> | ResultTargets<MatrixPower<D>>
    >
  >;
}

/** An eigenvalue of a + eps I as in `matrixPowerBackward`, with its derivative also at 0. */
const shifted = (w: RealExpr): RealExpr => add(select(lt(w, 0), 0, w), variable('eps'));
const [wi, wj] = [shifted(variable('wi')), shifted(variable('wj'))];
// between equal values, so that each of both has half of the derivative
const DIVIDED = dividedDifference(wi, wj, mul(0.5, add(wi, wj)));

type Arguments = readonly [a: KnownValue, power: number, options?: MatrixPowerOptions<LinalgDType>];

/** The change of the power with a symmetric change of a, and the gradient of a from that of the power: see `matrixPowerBackward`. */
const slopeAlong = (x: Value, [a, power, options = {}]: Arguments): Value =>
  pendingOf(async () => {
    const { eps = 0 } = options;
    const { values, vectors } = await eigh(floats(a), own(options, 'uplo'));
    const columns = matmulOf(symmetric(x), vectors);
    const m = await matmulOf(vectors, columns, { transposeA: true });
    const [column, row] = await Promise.all([asColumn(values), asRow(values)]);
    const inputs = { m, wi: column, wj: row };
    const middle = map(DIVIDED, inputs, { parameters: { power, eps } });
    return symmetric(matmulOf(matmulOf(vectors, middle), vectors, { transposeB: true }));
  });

const derivative: DerivativeRule<Arguments> = {
  vjp: (g, { args }) => {
    const { result, errors } = g as unknown as Cotangents<'result' | 'errors'>;
    if (errors !== undefined) throw noSlope();
    return [result && (() => slopeAlong(result, args))];
  },
  jvp: ([tangent], { args }) => {
    const result = slopeAlong(tangent as Value, args);
    const errors = pending(Promise.reject<Tensor>(noSlope()));
    // which fail where they are used
    heard([result, errors]);
    return { result: promisesTraced(result), errors: promisesTraced(errors), infos: undefined };
  },
};

const noSlope = (): MercerError =>
  notDifferentiable('matrixPower', 'its errors have no derivative');

/**
 * Powers `(a + eps I)^power` of symmetric positive semidefinite matrices: from eigenvalues and vectors (LAPACK's syevd), or for
 * -1/k by the coupled Newton iteration of Guo and Higham (2006), which is products only and pays where the conditioning is
 * mild.
 *
 * Shapes: a (..., n, n), result the same. float32 or float64, any strides. Only the triangle `uplo` is read. Eigenvalues that
 * are negative by rounding count as 0 before eps is added.
 *
 * infos: k > 0 where k eigenvalues are negative beyond rounding, or 0 with a negative power; -1 where that triangle holds NaN or
 * infinity; -2 where an iteration did not converge. The result is NaN there.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU the eigenvalues are
 * waited for off the event loop, and 'newton' looks after each step how far it is.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NotSemidefiniteError, NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { matrixPower } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[4, 0], [0, 16]], { device: 'cpu' });
 * const { result } = await matrixPower(a, -0.5);
 * console.log(await result.toNested()); // [ [ 0.5, 0 ], [ 0, 0.25 ] ]
 * ```
 */
export const matrixPower: MatrixPowerFunction = linalgFunction<
  MatrixPowerFunction,
  MatrixPowerOptions<LinalgDType>
>(
  {
    what: 'matrixPower',
    matrices: ['a'],
    options: MATRIX_POWER_OPTIONS,
    results: ['result', 'errors', 'infos'],
    overwrites: [['overwriteA', 'a', 'result']],
    meaning: () => 'semidefinite',
    key: (_, [, power]) => (typeof power === 'number' ? `${power}` : undefined),
    derivative,
    plan: (call, options, [, power]) => {
      const { what, setting } = call;
      const n = call.order();
      const { eps: ridge = 0, uplo } = options;
      checkNumbers(what, power, ridge);
      const common = {
        a: call.operand('a'),
        result: call.matrix('result', n, n),
        errors: call.numbers('errors'),
        infos: call.integers('infos'),
        upper: Number(choice(what, 'uplo', uplo, ['lower', 'upper']) === 'upper'),
        ridge,
      };
      if (choice(what, 'method', options.method, ['eigh', 'newton']) === 'newton') {
        call.run('inverseRoot', { ...common, root: rootOf(what, power) });
      } else {
        call.run('eigenPower', { ...common, power, epsilon: EPSILON[setting.dtype] });
      }
    },
  },
  2,
  true,
);

function checkNumbers(what: string, power: unknown, eps: number): asserts power is number {
  if (!Number.isFinite(power)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: power is ${describeValue(power)}. Pass a finite number.`,
    );
  }
  if (!Number.isFinite(eps) || eps < 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: eps is ${describeValue(eps)}. Pass a finite number of at least 0.`,
    );
  }
}

/** The k of a power -1/k. */
function rootOf(what: string, power: number): number {
  const root = Math.round(-1 / power);
  if (power < 0 && root >= 1 && root <= 64 && Math.abs(power * root + 1) < 1e-12) return root;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: method 'newton' computes powers -1/k with an integer k from 1 to 64, and power is ${power}. Use method 'eigh'.`,
  );
}
