import { vjp } from '@mercer/autodiff';
import type { Tensor } from '@mercer/tensor';
import { pending, type Share, type Value } from '@mercer/tensor/operation';
import type { LinearOperator } from '../operators/linear-operator.js';

/** Vectors by which an operator is multiplied, and the cotangent of the products, both (N, K). */
export interface Pair {
  readonly vectors: Value;
  readonly cotangent: Value;
}

/**
 * What tensors have a share of in `sum(cotangent * A(tensors) vectors)`: one of each tensor, computed together when the first is asked for.
 *
 * @param pair computed when it is asked for
 */
export function productShares(
  operator: LinearOperator,
  tensors: readonly Tensor[],
  pair: () => Promise<Pair>,
): readonly Share[] {
  let shares: Promise<readonly Tensor[]> | undefined;
  const compute = async (): Promise<readonly Tensor[]> => {
    const { vectors, cotangent } = await pair();
    const given = (await vectors) as Tensor;
    const product = (...of: readonly Tensor[]): Promise<Tensor> =>
      operator.withParameters(of).matvec(given as never);
    const { pull, dispose } = await vjp(product, { argnums: tensors.map((_, at) => at) })(
      ...tensors,
    );
    try {
      return await pull(await cotangent);
    } finally {
      dispose();
    }
  };
  return tensors.map(
    (_, at) => () => pending((shares ??= compute()).then((all) => all[at] as Tensor)),
  );
}
