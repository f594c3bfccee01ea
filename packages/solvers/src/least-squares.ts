import type { OptionNames } from '@mercer/options';
import {
  concat,
  isPending,
  MercerError,
  zeros,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import type { LeastSquaresSolution } from './iterative-solution.js';
import {
  checkRightHandSide,
  ITERATIVE_OPTIONS,
  solveBy,
  type ImplicitRule,
  type IterativeOptions,
  type Solver,
} from './iterative-solve.js';
import type { LeastSquaresState } from './krylov/least-squares-method.js';
import { LeastSquaresMethod } from './krylov/least-squares-method.js';
import { identityTimes, stacked } from './operators/compose.js';
import {
  assertOperator,
  assertTranspose,
  checkScalar,
  LinearOperator,
} from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of {@link lsqr} and {@link lsmr}. */
export interface LeastSquaresOptions<D extends OperatorDType> extends IterativeOptions<D> {
  /** What x is held back by: `norm(b - A x)^2 + damp^2 norm(x)^2` is made least. A number, or a tensor of rank 0, by which x is differentiated; default 0. */
  readonly damp?: number | Tensor<D> | undefined;
}

const OPTIONS: OptionNames<LeastSquaresOptions<OperatorDType>> = {
  ...ITERATIVE_OPTIONS,
  damp: true,
};

/**
 * The gradient of `x = A^+ b` of an operator of full rank, from the derivative of the pseudoinverse (Golub and Pereyra 1973). With `q = A^+T c`
 * for the cotangent c and `r = b - A x`: b has q, and the operator the gradients of `-q . A x`, of `r . A (A^+ q)` where it has more rows than
 * columns, and of `(A^+T x) . A (c - A^T q)` where it has fewer.
 */
const PSEUDOINVERSE_RULE: ImplicitRule = {
  adjoint: ({ operator, cotangent, solve }) => solve(operator.t(), cotangent),
  shares: async ({ operator, b, x, cotangent, solve }, q) => {
    const [rows, columns] = operator.shape;
    const share = (along: Tensor, seed: Tensor) => ({
      product: (of: LinearOperator) => of.matvec(along as never),
      cotangent: seed,
    });
    const shares = [share(x, await q.neg())];
    if (rows > columns) {
      const r = await b.sub(await operator.matvec(x as never));
      shares.push(share(await solve(operator, q), r));
    }
    if (rows < columns) {
      const rest = await cotangent.sub(await operator.rmatvec(q as never));
      shares.push(share(rest, await solve(operator.t(), x)));
    }
    return shares;
  },
};

const solverOf = (what: 'lsqr' | 'lsmr'): Solver<LeastSquaresState> => ({
  what,
  method: (system) => new LeastSquaresMethod(what, system),
  rule: PSEUDOINVERSE_RULE,
  isSquare: false,
  squaresOf: ['float32', 'float64'],
  said: ({ figure }) => ({ normal: figure }),
});

const [LSQR, LSMR] = [solverOf('lsqr'), solverOf('lsmr')];

/**
 * Solves least-squares problems by LSQR (Paige and Saunders 1982): the x with the least `norm(b - A x)^2 + damp^2 norm(x)^2`, for an operator of
 * any shape that has `rmatvec`. All columns of b are solved at once. Where several x are as good it gives the shortest one, if x0 is not given.
 *
 * A column is done when `norm(r) <= max(rtol norm(b), atol)`, as in `cg`, or when r is as good as orthogonal to the range of A:
 * `norm(A^T r) <= rtol norm(A) norm(r)`; `normal` of the columns is that quotient. Both are computed from x, not by the recurrence. `norm(A)` is
 * estimated by the largest norm of a row of the bidiagonal matrix, which is never above it. With `damp`, A is `[A; damp I]` and b is `[b; 0]` in all of this.
 *
 * x is differentiated by b, by the tensors of the operator and by `damp`, to any order, where A has full rank: the gradient is two more solves or, of a
 * matrix that is not square, three. An x0 in a system with more unknowns than equations changes the solution, and is refused then.
 *
 * ```ts
 * import { denseOperator, lsqr } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const line = denseOperator(await tensor([[1, 0], [1, 1], [1, 2]], where)); // a + b t at 0, 1 and 2
 * const { x, converged } = await lsqr(line, await tensor([1, 2, 4], where), { rtol: 1e-12 });
 * console.log(converged, (await x.toNested<number[]>()).map((one) => one.toFixed(3))); // true [ '0.833', '1.500' ]
 * ```
 *
 * @param operator (M, N)
 * @param b (M) or (M, K), of the operator's dtype and device
 * @throws SolverError NOT_FINITE; MercerError UNSUPPORTED without `rmatvec`, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT; the
 *   signal's reason; what the operator throws
 */
export async function lsqr<D extends OperatorDType>(
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options?: LeastSquaresOptions<D>,
): Promise<LeastSquaresSolution<D>> {
  return solveLeastSquares(LSQR, operator, b, options);
}

/**
 * Solves least-squares problems as {@link lsqr}, by LSMR (Fong and Saunders 2011): `norm(A^T r)` falls in every step, so that it may be stopped
 * earlier.
 *
 * @throws as `lsqr`
 */
export async function lsmr<D extends OperatorDType>(
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options?: LeastSquaresOptions<D>,
): Promise<LeastSquaresSolution<D>> {
  return solveLeastSquares(LSMR, operator, b, options);
}

async function solveLeastSquares<D extends OperatorDType>(
  solver: Solver<LeastSquaresState>,
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options: LeastSquaresOptions<D> | undefined,
): Promise<LeastSquaresSolution<D>> {
  const { what } = solver;
  const { damp = 0, ...given } = readOptions<LeastSquaresOptions<D>>(what, options, OPTIONS);
  assertOperator(operator, `${what}: the operator`);
  assertTranspose(what, operator);
  checkScalar(`${what}: damp`, damp, operator);
  if (typeof damp === 'number' && !Number.isFinite(damp)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: damp is ${damp}. Pass a finite number, or a tensor of rank 0.`,
    );
  }
  if (damp === 0)
    return (await solveBy(solver, operator, b, given)) as unknown as LeastSquaresSolution<D>;
  const right = isPending(b) ? await b : b;
  checkRightHandSide(what, operator, right);
  const [, unknowns] = operator.shape;
  const { dtype, device } = operator;
  const rest = new LinearOperator(identityTimes(operator, damp));
  const damped = new LinearOperator(stacked<D>([operator, rest], 0));
  using none = await zeros([unknowns, ...right.shape.slice(1)], { dtype, device });
  using whole = await concat([right, none], 0);
  return (await solveBy(solver, damped, whole, given)) as unknown as LeastSquaresSolution<D>;
}
