import type { Tensor } from '@mercer/tensor';
import { assertOperator, type LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { PoweredOperator } from './powered-operator.js';

/**
 * The Jacobi preconditioner: division by the operator's diagonal.
 *
 * ```ts
 * import { cg, denseOperator, jacobi } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const a = denseOperator(await tensor([[4, 0], [0, 100]], where));
 * using preconditioner = await jacobi(a);
 * const { iterations } = await cg(a, await tensor([1, 2], where), { preconditioner });
 * console.log(iterations); // 1
 * ```
 *
 * @param operator square, with a diagonal of positive numbers, which is not checked: `cg` says BAD_PRECONDITIONER, or NOT_FINITE of a 0
 * @returns the preconditioner, which the caller disposes
 * @throws MercerError UNSUPPORTED where the operator does not know its diagonal
 */
export async function jacobi<D extends OperatorDType>(
  operator: LinearOperator<D>,
): Promise<LinearOperator<D>> {
  assertOperator(operator, 'jacobi: the operator');
  const { shape } = operator;
  using diagonal = await operator.diagonal();
  using column = diagonal.reshape([shape[0], 1]);
  return divisor(operator, (await column.reciprocal()) as Tensor);
}

/** Multiplication by a column of positive numbers, which it owns. */
function divisor<D extends OperatorDType>(
  of: LinearOperator<D>,
  inverse: Tensor,
): PoweredOperator<D> {
  const { shape, dtype, device } = of;
  const matvec = async (v: Tensor, [factor]: readonly Tensor[]): Promise<Tensor> =>
    await v.mul(factor as Tensor);
  return new PoweredOperator<D>(
    {
      form: { shape, dtype, device, isCapturable: true },
      parameters: [inverse],
      owned: [inverse],
      rules: {
        matvec,
        rmatvec: matvec,
        diagonal: ([factor]) => Promise.resolve((factor as Tensor).reshape([shape[0]])),
      },
    },
    {
      power: async (exponent, [factor]) =>
        divisor(of, (await (factor as Tensor).pow(exponent)) as Tensor),
      logdet: async ([factor]) => {
        using wide = await (factor as Tensor).cast('float64');
        using total = await wide.log().sum();
        return await total.item();
      },
    },
  );
}
