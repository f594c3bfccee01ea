import type { TensorOperand } from '@mercer/tensor';
import type { IterativeSolution } from './iterative-solution.js';
import {
  readPreconditioned,
  solveBy,
  SYMMETRIC_RULE,
  type PreconditionedOptions,
  type Solver,
} from './iterative-solve.js';
import { CgMethod, type CgState } from './krylov/cg-method.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of {@link cg}. The preconditioner must be symmetric and positive definite. */
export type CgOptions<D extends OperatorDType> = PreconditionedOptions<D>;

const CG: Solver<CgState> = {
  what: 'cg',
  method: (system) => new CgMethod(system),
  rule: SYMMETRIC_RULE,
  isSquare: true,
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
  return solveBy(CG, operator, b, readPreconditioned(CG.what, options));
}
