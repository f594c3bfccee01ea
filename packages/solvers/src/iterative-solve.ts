import type { OptionNames } from '@mercer/options';
import {
  isPending,
  MercerError,
  type Pending,
  type SignalOption,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import {
  askAhead,
  assertNotPreparing,
  differentiable,
  formatShape,
  pending,
  readOptions,
  SIGNAL_OPTION,
} from '@mercer/tensor/operation';
import { checkCount, checkReporter, checkTolerance } from './checks.js';
import {
  NotConvergedError,
  type IterativeSolution,
  type SolvedColumn,
} from './iterative-solution.js';
import { release, unlessLeft } from './krylov/columns.js';
import {
  askForSolve,
  iterate,
  relative,
  reportOf,
  type IterationReport,
  type KrylovMethod,
  type KrylovState,
} from './krylov/iterate.js';
import { LinearSystem, type SystemParts } from './krylov/linear-system.js';
import { Status, type ColumnReport } from './krylov/status.js';
import type { LinearOperator } from './operators/linear-operator.js';
import { assertOperator, assertSquare } from './operators/linear-operator.js';
import { operator as operatorOf } from './operators/make-operator.js';
import { checkLike } from './operators/matrices.js';
import type { OperatorDType } from './operators/operator-types.js';
import { pulledBack, type OperatorTerm } from './product-shares.js';

/** A preconditioner: an operator that is close to the inverse, or its product with columns (N, K). */
export type Preconditioner<D extends OperatorDType> =
  LinearOperator<D> | PreconditionerMethod<D>['apply'];

/** A method, so that options of one dtype are options of several. */
interface PreconditionerMethod<D extends OperatorDType> {
  apply(residuals: Tensor<D>): PromiseLike<Tensor>;
}

/** Options of all iterative solvers. */
export interface IterativeOptions<D extends OperatorDType> extends SignalOption {
  /** Residual norms at which a column is done, by the norm of its right-hand side; default 1e-6, in float32 1e-4. */
  readonly rtol?: number | undefined;
  /** Residual norm at which a column is done whatever its right-hand side; default 0. */
  readonly atol?: number | undefined;
  /** Default: ten times the number of unknowns. */
  readonly maxIterations?: number | undefined;
  /** Where to start, like x; default 0. */
  readonly x0?: TensorOperand<D> | undefined;
  /** Called whenever the host learns how far the solve is: after every iteration on a CPU, which is slower than without it, every batch of them on a GPU. */
  readonly onIteration?: ((report: IterationReport) => void) | undefined;
}

/** Options of solvers of square systems. */
export interface PreconditionedOptions<D extends OperatorDType> extends IterativeOptions<D> {
  readonly preconditioner?: Preconditioner<D> | undefined;
}

/** Names of {@link IterativeOptions}. */
export const ITERATIVE_OPTIONS: OptionNames<IterativeOptions<OperatorDType>> = {
  ...SIGNAL_OPTION,
  rtol: true,
  atol: true,
  maxIterations: true,
  x0: true,
  onIteration: true,
};

/** Names of {@link PreconditionedOptions}. */
export const PRECONDITIONED_OPTIONS: OptionNames<PreconditionedOptions<OperatorDType>> = {
  ...ITERATIVE_OPTIONS,
  preconditioner: true,
};

/** A solver as its derivative calls it: of another operator, for another right-hand side. */
export type Solve = (operator: LinearOperator, b: Tensor) => Promise<Tensor>;

/** What the derivative of a solution knows. */
export interface Solved {
  /** The operator, of the tensors that are differentiated by. */
  readonly operator: LinearOperator;
  readonly b: Tensor;
  readonly x: Tensor;
  readonly cotangent: Tensor;
  readonly solve: Solve;
  /** With the transposed preconditioner, where that has products with its transpose. */
  readonly solveTransposed: Solve;
}

/** How a solution depends on its right-hand side and on the operator. */
export interface ImplicitRule {
  /** The cotangent of the right-hand side. */
  readonly adjoint: (solved: Solved) => Promise<Tensor>;
  /** What is differentiated by the tensors of the operator. */
  readonly shares: (solved: Solved, adjoint: Tensor) => Promise<readonly OperatorTerm[]>;
}

/** A solver. */
export interface Solver<S extends KrylovState> {
  readonly what: string;
  readonly method: (system: LinearSystem) => KrylovMethod<S>;
  readonly rule: ImplicitRule;
  /** Whether the operator must be square; it is read as a least-squares problem otherwise. */
  readonly isSquare: boolean;
  /** Dtypes of operators whose squares overflow or underflow in it. */
  readonly squaresOf?: readonly OperatorDType[];
  /** What is said of a column beside. */
  readonly said?: (column: ColumnReport) => object;
}

/** The gradient of `x = A^-1 b` of a symmetric operator: `b` has the solution for the cotangent, the operator `-(that) . A x`. */
export const SYMMETRIC_RULE: ImplicitRule = {
  adjoint: ({ operator, cotangent, solve }) => solve(operator, cotangent),
  shares: async ({ x }, adjoint) => [
    { product: (of) => of.matvec(x as never), cotangent: await adjoint.neg() },
  ],
};

/**
 * Solves a system by a method, of all columns at once, with derivatives.
 *
 * @param given options that are read already
 * @throws as the solvers do
 */
export async function solveBy<D extends OperatorDType, S extends KrylovState>(
  solver: Solver<S>,
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  given: PreconditionedOptions<D>,
): Promise<IterativeSolution<D>> {
  const { what } = solver;
  assertNotPreparing(what, 'reads residuals');
  assertOperator(operator, `${what}: the operator`);
  if (solver.isSquare) assertSquare(what, operator);
  // together, so that somebody listens to both; what is there is read as it is now
  const isAwaited = isPending(b) || isPending(given.x0);
  const [rightHandSide, start] = isAwaited ? await Promise.all([b, given.x0]) : [b, given.x0];
  checkRightHandSide(what, operator, rightHandSide);
  const numbers = numbersOf(what, operator, given);
  const preconditioner = preconditionerOf(what, operator, given.preconditioner);
  const [rows, unknowns] = operator.shape;
  const shape = [unknowns, ...rightHandSide.shape.slice(1)];
  if (start !== undefined) checkLike(`${what}: x0`, start, shape, rightHandSide);
  let columns: readonly ColumnReport[] = [];
  /** One right-hand side is a column. */
  const solve = async (...[right, tensors, others, x0]: System): Promise<Tensor> => {
    const [, count = 1] = right.shape;
    using wide = right.reshape([rows, count]);
    using wideStart = x0?.reshape([unknowns, count]);
    const parts = {
      ...numbers,
      operator: operator.withParameters(tensors),
      preconditioner: preconditioner?.withParameters(others),
      b: wide,
      x0: wideStart,
    };
    // before anything is waited for: it reads b and x0 as they are now
    const begun = LinearSystem.of(parts, solver.squaresOf);
    const ahead = async (): Promise<void> => {
      using system = await LinearSystem.of(parts);
      await askForSolve(solver.method(system));
    };
    const operators = [parts.operator, parts.preconditioner ?? parts.operator];
    const isOwn = operators.every((one) => one.isCapturable && !one.isForeign);
    const { signal } = given;
    const asked =
      isOwn && signal?.aborted !== true && askAhead(wide.device, kindOf(what, parts), ahead);
    const ready = Promise.all([begun, asked]).then(([one]) => one);
    using system = await unlessLeft(ready, signal, (late) => {
      late[Symbol.dispose]();
    });
    const end = await iterate(solver.method(system), given, what);
    columns = end.columns;
    const { x, ...rest } = end.state;
    release(rest);
    using inUnits = x;
    using found = await system.restored(inUnits);
    return found.reshape(shape);
  };
  const call = (...system: System): Pending<Tensor> => pending(solve(...system));
  const differentiated = differentiable<typeof call, System>(what, call, {
    vjp: (cotangent, { args: [right, tensors, others, x0], result }) => {
      const same = operator.withParameters(tensors) as LinearOperator;
      const used = preconditioner?.withParameters(others);
      const { x0: _x0, preconditioner: _own, atol: _atol, onIteration: _told, ...rest } = given;
      const solveWith =
        (other: LinearOperator<D> | undefined): Solve =>
        async (of, c) => {
          const rtol = relativeTolerance(numbers, columns);
          const options = { ...rest, ...(rtol > 0 && { rtol }), preconditioner: other };
          const solution = await solveBy(solver, of as LinearOperator<D>, c as Tensor<D>, options);
          if (solution.converged) return solution.x;
          throw new NotConvergedError(`the gradient of ${what}`, solution);
        };
      const solved = once(async (): Promise<Solved> => {
        if (x0 !== undefined && unknowns > rows) throw wideStart(what);
        return {
          operator: same,
          b: right,
          x: result as unknown as Tensor,
          cotangent: await cotangent,
          solve: solveWith(used),
          solveTransposed: solveWith(used?.hasTranspose === true ? used.t() : undefined),
        };
      });
      const adjoint = once(async () => solver.rule.adjoint(await solved()));
      const shares = once(async () =>
        pulledBack(
          operator as LinearOperator,
          tensors,
          await solver.rule.shares(await solved(), await adjoint()),
        ),
      );
      const shareOf = (at: number) => () => pending(shares().then((all) => all[at] as Tensor));
      return [() => pending(adjoint()), tensors.map((_one, at) => shareOf(at))];
    },
  });
  const x = (await differentiated(
    rightHandSide,
    operator.parameters,
    preconditioner?.parameters ?? [],
    start,
  )) as Tensor<D>;
  const solved = columns.map((one): SolvedColumn => ({
    converged: one.status === Status.converged,
    iterations: one.iterations,
    residual: relative(one),
    ...solver.said?.(one),
  }));
  return {
    x,
    converged: solved.every((one) => one.converged),
    ...reportOf(columns),
    columns: solved,
  };
}

/** A solve's tolerances by its right-hand sides, which another one is held to: cotangents are of other sizes than those. */
function relativeTolerance(
  { rtol, atol }: { readonly rtol: number; readonly atol: number },
  columns: readonly ColumnReport[],
): number {
  const shares = columns.map(({ scale, unit }) => {
    const own = atol / unit;
    return own < scale ? own / scale : 0;
  });
  return Math.max(rtol, ...shares);
}

/** The options of a solver that takes a preconditioner. */
export const readPreconditioned = <D extends OperatorDType>(
  what: string,
  options: PreconditionedOptions<D> | undefined,
): PreconditionedOptions<D> =>
  readOptions<PreconditionedOptions<D>>(what, options, PRECONDITIONED_OPTIONS);

/** What a solution depends on: the right-hand side, the tensors of the operator and of the preconditioner, and x0. */
type System = readonly [
  right: Tensor,
  tensors: readonly Tensor[],
  others: readonly Tensor[],
  x0: Tensor | undefined,
];

/** What solves share that launch the same kernels, but for those of their operators. */
const kindOf = (
  what: string,
  {
    operator,
    preconditioner,
    b,
    x0,
  }: Pick<SystemParts, 'operator' | 'preconditioner' | 'b' | 'x0'>,
): string =>
  [what, operator.dtype, preconditioner !== undefined, x0 !== undefined, b.shape[1] === 1].join(
    ' ',
  );

/** Work that is done once, when it is first asked for. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => (found ??= work());
}

const wideStart = (what: string): MercerError =>
  new MercerError(
    'NOT_DIFFERENTIABLE',
    `${what}: of a system with more unknowns than equations the solution depends on x0, and has no derivative then. Leave x0 out.`,
  );

/** @throws MercerError */
export function checkRightHandSide(what: string, operator: LinearOperator, b: Tensor): void {
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
  { shape: [, unknowns], dtype }: LinearOperator,
  {
    rtol = dtype === 'float64' ? 1e-6 : 1e-4,
    atol = 0,
    maxIterations = 10 * unknowns,
    onIteration,
  }: Omit<IterativeOptions<never>, 'x0'>,
): { readonly rtol: number; readonly atol: number; readonly maxIterations: number } {
  checkTolerance(what, rtol);
  checkTolerance(what, atol, 'atol');
  checkCount(what, 'maxIterations', maxIterations, [0, Infinity]);
  checkReporter(what, onIteration);
  return { rtol, atol, maxIterations };
}

/** The preconditioner of a call as an operator. @throws MercerError */
export function preconditionerOf<D extends OperatorDType>(
  what: string,
  { shape, dtype, device }: LinearOperator<D>,
  given: Preconditioner<D> | undefined,
): LinearOperator<D> | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'function') return operatorOf({ shape, dtype, device, matvec: given });
  assertOperator(given, `${what}: the preconditioner`);
  const fits =
    String(given.shape) === String(shape) && given.dtype === dtype && given.device === device;
  if (fits) return given;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the preconditioner is ${given.dtype} ${formatShape(given.shape)} on ${given.device.id}, and the operator ${dtype} ${formatShape(shape)} on ${device.id}. They must agree.`,
  );
}
