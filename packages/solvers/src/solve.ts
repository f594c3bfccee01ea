import type { OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { CG_OPTIONS, cgAs, type CgOptions } from './cg.js';
import { NotConvergedError } from './iterative-solution.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of `solve` of symbolic matrices. */
export interface SolveSystemOptions<D extends OperatorDType = OperatorDType> extends CgOptions<D> {
  /** The multiple of the identity that is added, a number or a tensor of rank 0, by which x is differentiated; default 1e-10. */
  readonly alpha?: number | Tensor<D> | undefined;
}

/** Names of {@link SolveSystemOptions}. */
export const SOLVE_OPTIONS: OptionNames<SolveSystemOptions> = {
  ...CG_OPTIONS,
  alpha: true,
};

/** The solution of `(operator + alpha I) x = b`. @throws NotConvergedError, and as `cg` */
export async function solveShifted<D extends OperatorDType>(
  what: string,
  operator: () => LinearOperator<D>,
  b: TensorOperand<D>,
  options: SolveSystemOptions<D> | undefined,
): Promise<Tensor<D>> {
  const given = readOptions<SolveSystemOptions<D>>(what, options, SOLVE_OPTIONS);
  const { alpha = 1e-10, ...rest } = given;
  const solution = await cgAs(what, operator().shift(alpha), b, rest);
  if (!solution.converged) throw new NotConvergedError(what, solution);
  return solution.x;
}
