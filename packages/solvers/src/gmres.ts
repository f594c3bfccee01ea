import type { OptionNames } from '@mercer/options';
import type { TensorOperand } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { checkCount } from './checks.js';
import type { IterativeSolution } from './iterative-solution.js';
import {
  PRECONDITIONED_OPTIONS,
  solveBy,
  type ImplicitRule,
  type PreconditionedOptions,
} from './iterative-solve.js';
import { GmresMethod } from './krylov/gmres-method.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of {@link gmres}. The preconditioner need not be symmetric. */
export interface GmresOptions<D extends OperatorDType> extends PreconditionedOptions<D> {
  /** How many vectors are kept until x is formed and the next cycle begins; default 20. */
  readonly restart?: number | undefined;
}

const OPTIONS: OptionNames<GmresOptions<OperatorDType>> = {
  ...PRECONDITIONED_OPTIONS,
  restart: true,
};

/** The gradient of `x = A^-1 b`: b has the solution of the transposed system for the cotangent, the operator `-(that) . A x`. */
const RULE: ImplicitRule = {
  adjoint: ({ operator, cotangent, solveTransposed }) => solveTransposed(operator.t(), cotangent),
  shares: async ({ x }, adjoint) => [
    { product: (of) => of.matvec(x as never), cotangent: await adjoint.neg() },
  ],
};

/**
 * Solves `A x = b` for any square operator by GMRES (Saad and Schultz 1986), restarted: x has the least residual of all vectors of the Krylov space of
 * a cycle. It is called as `cg`, and ends as `cg` does; the true residual is computed at the end of each cycle.
 *
 * The preconditioner is applied on the right, `A P u = b` with `x = P u`, so that the residual that is made least is the true one. A cycle keeps `restart`
 * vectors for each column, and one more. A cycle that does not help is followed by the same one: such a column stagnates, and `converged` is false; a
 * larger `restart` or a preconditioner helps. So is that of a singular operator whose Krylov space has no solution.
 *
 * x is differentiated as that of `cg`, by a solve of the transposed system, for which the operator needs `rmatvec`. It uses the transposed
 * preconditioner where that has `rmatvec`, and none where it has not.
 *
 * ```ts
 * import { denseOperator, gmres } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const a = denseOperator(await tensor([[1, 2], [0, 3]], where));
 * const { x, converged } = await gmres(a, await tensor([5, 6], where));
 * console.log(converged, (await x.toNested<number[]>()).map((one) => one.toFixed(3))); // true [ '1.000', '2.000' ]
 * ```
 *
 * @param operator (N, N)
 * @param b (N) or (N, K), of the operator's dtype and device
 * @throws SolverError NOT_FINITE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT; the signal's reason; what the
 *   operator throws
 */
export async function gmres<D extends OperatorDType>(
  operator: LinearOperator<D>,
  b: TensorOperand<D>,
  options?: GmresOptions<D>,
): Promise<IterativeSolution<D>> {
  const what = 'gmres';
  const { restart = 20, ...given } = readOptions<GmresOptions<D>>(what, options, OPTIONS);
  checkCount(what, 'restart', restart, [1, Infinity]);
  const solver = {
    what,
    method: (system: ConstructorParameters<typeof GmresMethod>[0]) =>
      new GmresMethod(system, Math.max(1, Math.min(restart, operator.shape[0]))),
    rule: RULE,
    isSquare: true,
    squaresOf: ['float64'] as const,
  };
  return solveBy(solver, operator, b, given);
}
