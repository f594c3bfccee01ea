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
import { coupledRoot, STEPS } from './coupled-root.js';
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
  /**
   * 'eigh' (default) for any power; 'newton' and 'higherOrder', products only, for powers -1/k with an integer k of at least 1.
   * 'higherOrder' needs fewer steps, of one product more.
   */
  readonly method?: 'eigh' | 'newton' | 'higherOrder' | undefined;
  /**
   * Steps of an iteration, from 1 to 1000: all of them are enqueued, and what has converged stays as it is. A condition number c takes about
   * `log(c) / (k log(1 + 1/k)) + 5` steps of 'newton', two thirds of them with 'higherOrder'. Default: 30 in float32, 50 in float64; on a CPU, 'newton'
   * without `steps` ends by itself.
   */
  readonly steps?: number | undefined;
  /** What is raised is a + eps I; at least 0, default 0. */
  readonly eps?: number | undefined;
  /**
   * Relative rounding of the elements of a: eigenvalues down to -n times as much of the largest count as 0. Default: that of the dtype. A matrix that was computed in float32 and cast has
   * that of float32, 2 ** -23. Only for 'eigh'.
   */
  readonly rounding?: number | undefined;
  /** Write the power into a's memory; the result is another handle for it. */
  readonly overwriteA?: boolean | undefined;
  /** Where the power goes, or results by name; not together with overwriteA. */
  readonly out?: Tensor<D> | ResultTargets<MatrixPower<D>> | undefined;
}

const MATRIX_POWER_OPTIONS: OptionNames<MatrixPowerOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...TRIANGLE_OPTION,
  method: true,
  steps: true,
  eps: true,
  rounding: true,
  overwriteA: true,
  out: true,
};

/** Powers of matrices. */
export interface MatrixPower<D extends LinalgDType> extends Infos {
  /** (..., n, n), symmetric up to rounding. */
  readonly result: Tensor<D>;
  /**
   * How far off the result may be, one number for each batch entry. For 'eigh' the bound on its relative error that follows
   * from n eps on the eigenvalues, `n eps (1 + |a| max|f'| / max|f|)`. For iterations what is left of the equation,
   * `result^k (a + eps I) - I`, as they see it: its Frobenius norm, where a CPU's iteration ended by itself its largest element.
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
 * -1/k by the coupled Newton iteration of Guo and Higham (2006) or its next of higher order, which are products only and pay where the
 * conditioning is mild.
 *
 * Shapes: a (..., n, n), result the same. float32 or float64, any strides. Only the triangle `uplo` is read. Eigenvalues that
 * are negative by rounding count as 0 before eps is added.
 *
 * infos: k > 0 where k eigenvalues are negative beyond rounding, or 0 with a negative power; -1 where that triangle holds NaN or
 * infinity; -2 where an iteration did not converge. The result is NaN there.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU the eigenvalues are
 * waited for off the event loop. Iterations never wait: the device decides where each matrix ends.
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
      const method = choice(what, 'method', options.method, ['eigh', 'newton', 'higherOrder']);
      const steps = stepsOf(what, method, options.steps);
      const rounding = roundingOf(what, method, options.rounding);
      if (method === 'eigh') {
        call.run('eigenPower', { ...common, power, epsilon: rounding ?? EPSILON[setting.dtype] });
        return;
      }
      const root = rootOf(what, method, power);
      if (method === 'newton' && steps === undefined && setting.device.kind === 'cpu') {
        call.run('inverseRoot', { ...common, root });
        return;
      }
      coupledRoot(call, {
        ...common,
        a: common.a.memory,
        result: common.result.memory,
        upper: common.upper === 1,
        root,
        terms: method === 'newton' ? 2 : 3,
        steps: steps ?? STEPS[setting.dtype],
      });
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

/** @throws MercerError INVALID_ARGUMENT */
function roundingOf(
  what: string,
  method: string,
  rounding: number | undefined,
): number | undefined {
  if (rounding === undefined) return undefined;
  if (method !== 'eigh') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: rounding is ${describeValue(rounding)}, but method '${method}' asks for no eigenvalues. Leave rounding away, or use method 'eigh'.`,
    );
  }
  if (Number.isFinite(rounding) && rounding >= 0 && rounding < 1) return rounding;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: rounding is ${describeValue(rounding)}. Pass a number from 0 to less than 1, such as 2 ** -23 for a matrix of float32.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function stepsOf(what: string, method: string, steps: number | undefined): number | undefined {
  if (steps === undefined) return undefined;
  if (method === 'eigh') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: steps is ${describeValue(steps)}, but method 'eigh' has none. Leave steps away, or pass method 'newton' or 'higherOrder'.`,
    );
  }
  if (Number.isInteger(steps) && steps >= 1 && steps <= 1000) return steps;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: steps is ${describeValue(steps)}. Pass an integer from 1 to 1000.`,
  );
}

/** The k of a power -1/k. */
function rootOf(what: string, method: string, power: number): number {
  const root = Math.round(-1 / power);
  if (power < 0 && root >= 1 && root <= 64 && Math.abs(power * root + 1) < 1e-12) return root;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: method '${method}' computes powers -1/k with an integer k from 1 to 64, and power is ${power}. Use method 'eigh'.`,
  );
}
