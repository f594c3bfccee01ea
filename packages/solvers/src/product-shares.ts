import { vjp } from '@mercer/autodiff';
import type { Tensor } from '@mercer/tensor';
import { pending, type Share, type Value } from '@mercer/tensor/operation';
import type { LinearOperator } from './operators/linear-operator.js';

/** Vectors by which an operator is multiplied, and the cotangent of the products, both (N, K). */
export interface Pair {
  readonly vectors: Value;
  readonly cotangent: Value;
}

/** A function of an operator, with the cotangent of its value. */
export interface OperatorTerm {
  readonly product: (of: LinearOperator) => Promise<Tensor>;
  readonly cotangent: Tensor;
}

/** What tensors of an operator have of terms that are functions of it, added up: one of each tensor, none without terms. */
export async function pulledBack(
  operator: LinearOperator,
  tensors: readonly Tensor[],
  terms: readonly OperatorTerm[],
): Promise<readonly Tensor[]> {
  let total: readonly Tensor[] | undefined;
  for (const { product, cotangent } of terms) {
    const of = (...all: readonly Tensor[]): Promise<Tensor> =>
      product(operator.withParameters(all));
    const argnums = tensors.map((_, at) => at);
    const { pull, dispose } = await vjp(of, { argnums })(...tensors);
    try {
      const pulled = await pull(cotangent);
      const before = total;
      total =
        before === undefined
          ? pulled
          : await Promise.all(pulled.map((one, at) => one.add(before[at] as Tensor)));
    } finally {
      dispose();
    }
  }
  return total ?? [];
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
    const product = (of: LinearOperator): Promise<Tensor> => of.matvec(given as never);
    return await pulledBack(operator, tensors, [{ product, cotangent: await cotangent }]);
  };
  return tensors.map(
    (_, at) => () => pending((shares ??= compute()).then((all) => all[at] as Tensor)),
  );
}
