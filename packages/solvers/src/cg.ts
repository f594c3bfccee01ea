import { vjp } from '@mercer/autodiff';
import { describeValue, type OptionNames } from '@mercer/options';
import {
  isPending,
  MercerError,
  type Pending,
  type SignalOption,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import {
  differentiable,
  formatShape,
  pending,
  readOptions,
  SIGNAL_OPTION,
} from '@mercer/tensor/operation';
import type { IterativeSolution } from './iterative-solution.js';
import { CgMethod } from './krylov/cg-method.js';
import { iterate, relative, reportOf, type IterationReport } from './krylov/iterate.js';
import { Status, type ColumnReport } from './krylov/status.js';
import type { LinearOperator } from './operators/linear-operator.js';
import { assertOperator, assertSquare } from './operators/linear-operator.js';
import { operator as operatorOf } from './operators/make-operator.js';
import { checkLike } from './operators/matrices.js';
import type { OperatorDType } from './operators/operator-types.js';

/** A preconditioner: an operator that is close to the inverse, symmetric and positive definite, or its product with columns (N, K). */
export type Preconditioner<D extends OperatorDType> =
  LinearOperator<D> | PreconditionerMethod<D>['apply'];

/** A method, so that options of one dtype are options of several. */
interface PreconditionerMethod<D extends OperatorDType> {
  apply(residuals: Tensor<D>): PromiseLike<Tensor>;
}

/** Options of {@link cg}. */
export interface CgOptions<D extends OperatorDType> extends SignalOption {
  /** Residual norms at which a column is done, by the norm of its right-hand side; default 1e-6, in float32 1e-4. */
  readonly rtol?: number | undefined;
  /** Residual norm at which a column is done whatever its right-hand side; default 0. */
  readonly atol?: number | undefined;
  /** Default: ten times the number of unknowns. */
  readonly maxIterations?: number | undefined;
  readonly preconditioner?: Preconditioner<D> | undefined;
  /** Where to start, like b; default 0. */
  readonly x0?: TensorOperand<D> | undefined;
  /** Called whenever the host learns how far the solve is: after every iteration on a CPU, every ten on a GPU. */
  readonly onIteration?: ((report: IterationReport) => void) | undefined;
}

/** Names of {@link CgOptions}. */
export const CG_OPTIONS: OptionNames<CgOptions<OperatorDType>> = {
  ...SIGNAL_OPTION,
  rtol: true,
  atol: true,
  maxIterations: true,
  preconditioner: true,
  x0: true,
  onIteration: true,
};

/**
 * Solves `A x = b` for a symmetric positive definite operator by conjugate gradients, all columns of b at once, each with its own steps. It
 * resolves when the solve has ended, and says how.
 *
 * A column is done when `norm(b - A x) <= max(rtol norm(b), atol)` by its true residual, which is computed every 50 iterations and at the end;
 * where it exceeds the one of the recurrence tenfold, the column restarts from it. Inner products are in float64. Columns that are done stay as
 * they are while others go on. A column whose true residual has not fallen by a tenth in 50 iterations, while x has gained less energy than
 * rounding hides, has stagnated: `converged` is false, as where it has had `maxIterations`, and x is what was reached. A right-hand side of zeros has the solution 0.
 *
 * On a GPU ten iterations are enqueued at a time, replayed from a capture where the operator and the preconditioner allow it, and the host
 * looks at them one batch late.
 *
 * x is differentiated by b and by the tensors that the operator is made of, a shift among them, to any order: the gradient solves the same system
 * (implicit differentiation), and is as accurate as the solve. x0 and the preconditioner have no derivative, and what is said beside x none.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { cg } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const points = await tensor([[0], [1], [2]], where);
 * const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator().shift(0.1);
 * const { x, converged } = await cg(kernel, await tensor([1, 2, 3], where), { rtol: 1e-10 });
 * console.log(converged, (await x.toNested<number[]>()).map((one) => one.toFixed(3))); // true [ '0.602', '0.797', '2.451' ]
 * ```
 *
 * @param operator (N, N), symmetric positive definite, which is not checked
 * @param b (N) or (N, K), of the operator's dtype and device
 * @throws SolverError INDEFINITE, BAD_PRECONDITIONER, NOT_FINITE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT; the
 *   signal's reason; what the operator throws
 */
export async function cg<D extends OperatorDType>(
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options?: CgOptions<D>,
): Promise<IterativeSolution<D>> {
  const what = 'cg';
  const given = readOptions<CgOptions<D>>(what, options, CG_OPTIONS);
  assertOperator(operator, `${what}: the operator`);
  assertSquare(what, operator);
  const rightHandSide = isPending(b) ? await b : b;
  const start = isPending(given.x0) ? await given.x0 : given.x0;
  checkRightHandSide(what, operator, rightHandSide);
  const numbers = numbersOf(what, operator, given);
  const preconditioner = preconditionerOf(what, operator, given.preconditioner);
  if (start !== undefined) checkLike(`${what}: x0`, start, rightHandSide.shape, rightHandSide);
  let columns: readonly ColumnReport[] = [];
  /** One right-hand side is a column. */
  const solve = async (...[right, tensors, others, x0]: System): Promise<Tensor> => {
    const [n = 0, count = 1] = right.shape;
    using wide = right.reshape([n, count]);
    using wideStart = x0?.reshape([n, count]);
    using method = await CgMethod.of({
      ...numbers,
      operator: operator.withParameters(tensors),
      preconditioner: preconditioner?.withParameters(others),
      b: wide,
      x0: wideStart,
    });
    const end = await iterate(method, await method.start(), given);
    columns = end.columns;
    const { x, ...rest } = end.state;
    for (const one of Object.values(rest)) one.dispose();
    using found = x;
    return found.reshape(right.shape);
  };
  const call = (...system: System): Pending<Tensor> => pending(solve(...system));
  const differentiated = differentiable<typeof call, System>(what, call, {
    vjp: (cotangent, { args: [, tensors, others], result }) => {
      const same = operator.withParameters(tensors);
      /** A solution of the same system, for the cotangent. */
      const adjoint = once(async () => {
        const { x0: _, ...rest } = given;
        const options = { ...rest, preconditioner: preconditioner?.withParameters(others) };
        return (await cg(same, (await cotangent) as Tensor<D>, options)).x;
      });
      /** Of `-adjoint . A(tensors) x`. */
      const shares = once(async () => {
        const product = (...of: readonly Tensor[]): Promise<Tensor> =>
          operator.withParameters(of).matvec(result as unknown as Tensor<D>);
        const argnums = tensors.map((_, at) => at);
        const { pull, dispose } = await vjp(product, { argnums })(...tensors);
        try {
          return await pull(await (await adjoint()).neg());
        } finally {
          dispose();
        }
      });
      const shareOf = (at: number) => () => pending(shares().then((all) => all[at] as Tensor));
      return [() => pending(adjoint()), tensors.map((_, at) => shareOf(at))];
    },
  });
  const x = (await differentiated(
    rightHandSide,
    operator.parameters,
    preconditioner?.parameters ?? [],
    start,
  )) as Tensor<D>;
  const solved = columns.map((one) => ({
    converged: one.status === Status.converged,
    iterations: one.iterations,
    residual: relative(one),
  }));
  return {
    x,
    converged: solved.every((one) => one.converged),
    ...reportOf(columns),
    columns: solved,
  };
}

/** What a solution depends on: the right-hand side, the tensors of the operator and of the preconditioner, and x0. */
type System = readonly [
  right: Tensor,
  tensors: readonly Tensor[],
  others: readonly Tensor[],
  x0: Tensor | undefined,
];

/** Work that is done once, when it is first asked for. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => (found ??= work());
}

/** @throws MercerError */
function checkRightHandSide(what: string, operator: LinearOperator, b: Tensor): void {
  const [n] = operator.shape;
  const shape = (b as Partial<Tensor> | undefined)?.shape ?? [];
  checkLike(`${what}: b`, b, shape, operator);
  if ((shape.length === 1 || shape.length === 2) && shape[0] === n) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: b has shape ${formatShape(shape)}, and the operator ${formatShape(operator.shape)}. Pass (${n}), or columns (${n}, K).`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function numbersOf(
  what: string,
  { shape: [n], dtype }: LinearOperator,
  {
    rtol = dtype === 'float64' ? 1e-6 : 1e-4,
    atol = 0,
    maxIterations = 10 * n,
    onIteration,
  }: Omit<CgOptions<never>, 'preconditioner' | 'x0'>,
): { readonly rtol: number; readonly atol: number; readonly maxIterations: number } {
  for (const [name, value] of Object.entries({ rtol, atol })) {
    if (typeof value === 'number' && value >= 0 && value < Infinity) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(value)}. Pass a number that is not negative.`,
    );
  }
  if (!(Number.isSafeInteger(maxIterations) && maxIterations >= 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: maxIterations is ${describeValue(maxIterations)}. Pass a whole number that is not negative.`,
    );
  }
  if (onIteration !== undefined && typeof onIteration !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: onIteration is ${describeValue(onIteration)}. Pass a function.`,
    );
  }
  return { rtol, atol, maxIterations };
}

/** @throws MercerError */
export function preconditionerOf<D extends OperatorDType>(
  what: string,
  { shape, dtype, device }: LinearOperator<D>,
  given: Preconditioner<D> | undefined,
): LinearOperator<D> | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'function')
    return operatorOf({ shape, dtype, device, matvec: given, rmatvec: 'symmetric' });
  assertOperator(given, `${what}: the preconditioner`);
  const fits =
    String(given.shape) === String(shape) && given.dtype === dtype && given.device === device;
  if (fits) return given;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the preconditioner is ${given.dtype} ${formatShape(given.shape)} on ${given.device.id}, and the operator ${dtype} ${formatShape(shape)} on ${device.id}. They must agree.`,
  );
}
