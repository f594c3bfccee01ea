import type { OptionNames } from '@mercer/options';
import type { TensorOperand } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { checkFlag } from './checks.js';
import type { IterativeSolution } from './iterative-solution.js';
import {
  PRECONDITIONED_OPTIONS,
  solveBy,
  SYMMETRIC_RULE,
  type PreconditionedOptions,
  type Solver,
} from './iterative-solve.js';
import { BlockCgMethod, type BlockCgState } from './krylov/block-cg-method.js';
import { CgMethod, type CgState } from './krylov/cg-method.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of {@link cg}. The preconditioner must be symmetric and positive definite. */
export interface CgOptions<D extends OperatorDType> extends PreconditionedOptions<D> {
  /** Whether the columns search one space together: see {@link cg}. Default false. */
  readonly block?: boolean | undefined;
}

/** Names of {@link CgOptions}. */
export const CG_OPTIONS: OptionNames<CgOptions<OperatorDType>> = {
  ...PRECONDITIONED_OPTIONS,
  block: true,
};

const CG: Solver<CgState> = {
  what: 'cg',
  method: (system) => new CgMethod(system),
  rule: SYMMETRIC_RULE,
  isSquare: true,
};

const BLOCK_CG: Solver<BlockCgState> = { ...CG, method: (system) => new BlockCgMethod(system) };

/**
 * Solves `A x = b` for a symmetric positive definite operator by conjugate gradients, all columns of b at once, each with its own steps. It
 * resolves when the solve has ended, and says how.
 *
 * A column is done when `norm(b - A x) <= max(rtol norm(b), atol)` by its true residual, which is computed every 50 iterations and at the end;
 * where it exceeds the one of the recurrence tenfold, the column restarts from it. Inner products are in float64. Columns that are done stay as
 * they are while others go on. Of a singular operator and a right-hand side out of its range `converged` is false, and x is of no use; `lsqr` has least-squares solutions. A column whose true residual has not fallen by a tenth in 50 iterations, while x has gained less energy than
 * rounding hides, has stagnated: `converged` is false, as where it has had `maxIterations`, and x is what was reached. A right-hand side of zeros has the solution 0.
 *
 * `block: true` searches the Krylov spaces of all columns together (block conjugate gradients, O'Leary 1980, in the form of Ji and Li 2017): fewer iterations, hence
 * fewer products, for some 4 to 64 right-hand sides of one operator, of which each pays for the eigenvalues of two matrices (K, K) and products (N, K) with (K, K).
 * Directions that the others span to rounding are left out, so that right-hand sides may be the same, or multiples, or more than the unknowns. Residuals, their
 * tolerances and the errors are as before; the figure of an indefinite operator is the least `p . A p` of all unit directions p. Its iterations are not captured.
 *
 * On a GPU an iteration is captured where the operator and the preconditioner allow it, and the device repeats it by itself, until the next true residual is due or all columns
 * are done; the host looks one batch late. With `onIteration`, and before CUDA 12.4, ten iterations are enqueued at a time. On a CPU such iterations are captured after two, and repeated
 * by the threads of the pool, without the host; with `onIteration` they are made one by one.
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
  return cgAs('cg', operator, b, options);
}

/** The same by the name of another function that a user called. */
export async function cgAs<D extends OperatorDType>(
  what: string,
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options: CgOptions<D> | undefined,
): Promise<IterativeSolution<D>> {
  const { block = false, ...given } = readOptions<CgOptions<D>>(what, options, CG_OPTIONS);
  checkFlag(what, 'block', block);
  return block
    ? solveBy({ ...BLOCK_CG, what }, operator, b, given)
    : solveBy({ ...CG, what }, operator, b, given);
}
