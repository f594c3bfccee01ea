import type { OptionNames } from '@mercer/options';
import { isPending, type Tensor, type TensorOperand } from '@mercer/tensor';
import {
  assertNotPreparing,
  assertTensor,
  heard,
  isTraced,
  readOptions,
} from '@mercer/tensor/operation';
import { CG_OPTIONS, cgAs, type CgOptions } from './cg.js';
import { NotConvergedError } from './iterative-solution.js';
import {
  LAZY_OPERATOR_OPTIONS,
  productOptions,
  type LazyOperatorOptions,
} from './operators/lazy-operator.js';
import type { LinearOperator } from './operators/linear-operator.js';
import type { OperatorDType } from './operators/operator-types.js';

/** Options of `solve` of symbolic matrices: those of `cg` and of `asOperator`. With `devices` the right-hand side may lie anywhere, and x is on the first. */
export interface SolveSystemOptions<D extends OperatorDType = OperatorDType>
  extends CgOptions<D>, LazyOperatorOptions {
  /** The multiple of the identity that is added, a number or a tensor of rank 0, by which x is differentiated; default 1e-10. */
  readonly alpha?: number | Tensor<D> | undefined;
}

/** Names of {@link SolveSystemOptions}. */
export const SOLVE_OPTIONS: OptionNames<SolveSystemOptions> = {
  ...CG_OPTIONS,
  ...LAZY_OPERATOR_OPTIONS,
  alpha: true,
};

/**
 * The solution of `(operator + alpha I) x = b`.
 *
 * @param operatorOf takes the options of its products
 * @throws NotConvergedError, and as `cg`
 */
export async function solveShifted<D extends OperatorDType>(
  what: string,
  operatorOf: (products: LazyOperatorOptions) => LinearOperator<D>,
  b: TensorOperand<D>,
  options: SolveSystemOptions<D> | undefined,
): Promise<Tensor<D>> {
  heard([b]);
  assertNotPreparing(what, 'reads residuals');
  const given = readOptions<SolveSystemOptions<D>>(what, options, SOLVE_OPTIONS);
  const { alpha = 1e-10, ...others } = given;
  const [products, rest] = productOptions(others);
  const operator = operatorOf(products);
  const rightHandSide = isPending(b) ? await b : b;
  if (!isTraced(rightHandSide)) assertTensor(rightHandSide, `${what}: b`);
  const isHome = products.devices === undefined || rightHandSide.device === operator.device;
  using moved = isHome
    ? undefined
    : await rightHandSide.to(operator.device, { signal: rest.signal });
  const solution = await cgAs(what, operator.shift(alpha), moved ?? rightHandSide, rest);
  if (!solution.converged) throw new NotConvergedError(what, solution);
  return solution.x;
}
