import type { TensorOperand } from '@mercer/tensor';
import type { IterativeSolution } from './iterative-solution.js';
import {
  readPreconditioned,
  solveBy,
  SYMMETRIC_RULE,
  type PreconditionedOptions,
  type Solver,
} from './iterative-solve.js';
import { MinresMethod, type MinresState } from './krylov/minres-method.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of {@link minres}. The preconditioner must be symmetric and positive definite, also where the operator is indefinite. */
export type MinresOptions<D extends OperatorDType> = PreconditionedOptions<D>;

const MINRES: Solver<MinresState> = {
  what: 'minres',
  method: (system) => new MinresMethod(system),
  rule: SYMMETRIC_RULE,
  isSquare: true,
  squaresOf: ['float64'],
};

/**
 * Solves `A x = b` for a symmetric operator, definite or not, by MINRES (Paige and Saunders 1975): x has the least residual of all vectors of its
 * Krylov space. It is called as `cg`, ends as `cg` does, by true residuals, and is differentiated as `cg` is.
 *
 * With a preconditioner P the residual is least in the norm of P, while the rule for stopping is that of `cg`: `norm(b - A x)`. Of a singular operator and
 * a right-hand side out of its range `converged` is false, and x is of no use: rounding lets it grow along what the operator takes to 0. `lsqr` has least-squares solutions.
 *
 * ```ts
 * import { denseOperator, minres } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const indefinite = denseOperator(await tensor([[1, 2], [2, 1]], where)); // eigenvalues 3 and -1
 * const { x, converged } = await minres(indefinite, await tensor([4, 5], where));
 * console.log(converged, (await x.toNested<number[]>()).map((one) => one.toFixed(3))); // true [ '2.000', '1.000' ]
 * ```
 *
 * @param operator (N, N), symmetric, which is not checked: an operator that is not symmetric ends with `converged` false, or with a true solution
 * @param b (N) or (N, K), of the operator's dtype and device
 * @throws SolverError BAD_PRECONDITIONER, NOT_FINITE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT; the signal's
 *   reason; what the operator throws
 */
export async function minres<D extends OperatorDType>(
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options?: MinresOptions<D>,
): Promise<IterativeSolution<D>> {
  return solveBy(MINRES, operator, b, readPreconditioned(MINRES.what, options));
}
