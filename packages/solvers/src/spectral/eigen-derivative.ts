import { MercerError, type Tensor } from '@mercer/tensor';
import { differentiable, type DerivativeRule } from '@mercer/tensor/operation';
import { cg } from '../cg.js';
import { NotConvergedError } from '../iterative-solution.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import { operator as operatorOf } from '../operators/make-operator.js';
import { times } from '../preconditioners/low-rank.js';
import { unitOf } from '../checks.js';
import type { EigenPairs } from './eigen-solution.js';
import { productShares } from '../product-shares.js';
import { beside, type Which } from './subspace.js';

/** An eigensolver of the operator's tensors, and of others that its result does not depend on. */
type Call = (
  tensors: readonly Tensor[],
  others: readonly (Tensor | undefined)[],
) => Promise<EigenPairs>;

/** Of what the gradient of vectors solves. */
interface Deflated {
  readonly operator: LinearOperator;
  readonly which: Which;
  readonly rtol: number;
  readonly signal: AbortSignal | undefined;
  /** The norm of the operator, once it is known. */
  scale: number;
}

/** The systems of gradients are solved as well as pairs are found, in float32 as well as others are. */
export const deflatedOf = (
  operator: LinearOperator,
  { rtol, ...rest }: Pick<Deflated, 'which' | 'rtol' | 'signal'>,
): Deflated => ({
  operator,
  ...rest,
  rtol: operator.dtype === 'float64' ? rtol : Math.max(rtol, 1e-4),
  scale: 0,
});

/**
 * An eigensolver that is differentiated by the operator's tensors: `d value = v . dA v`, and `d v = (value - A)^+ dA v`, of which the part among the other
 * vectors that were found is known, and the rest is a system beside them all, which is definite at an end of the spectrum.
 */
export function withDerivative(what: string, deflated: Deflated, call: Call): Call {
  const { operator, which } = deflated;
  const rule: DerivativeRule<
    readonly [tensors: readonly Tensor[], others: readonly (Tensor | undefined)[]]
  > = {
    vjp: (cotangent, { args: [tensors], result }) => {
      const ofPairs = cotangent as unknown as Partial<EigenPairs>;
      if (ofPairs.vectors !== undefined && which === 'magnitude') {
        throw new MercerError(
          'NOT_DIFFERENTIABLE',
          `${what}: vectors of the largest magnitude have no derivative, nor have their values a second one: they may lie at both ends of the spectrum. Ask for the largest and the smallest, each alone.`,
        );
      }
      const { values, vectors } = result as unknown as EigenPairs;
      const pair = async () => {
        const { values: dValues, vectors: dVectors } = ofPairs;
        const slopes = dValues && vectors.mul(dValues);
        if (dVectors === undefined) return { vectors, cotangent: slopes ?? vectors.mul(0) };
        const turn = await turning(deflated, tensors, { values, vectors }, dVectors);
        if (slopes === undefined) return { vectors, cotangent: turn };
        using part = turn;
        return { vectors, cotangent: await part.add(slopes) };
      };
      return [productShares(operator, tensors, pair)];
    },
  };
  return differentiable(what, call, rule);
}

/** What `A v` has of the cotangents of vectors. */
async function turning(
  { operator, which, rtol, signal, scale }: Deflated,
  tensors: readonly Tensor[],
  { values, vectors }: EigenPairs,
  cotangent: Tensor,
): Promise<Tensor> {
  const { shape, dtype, device } = operator;
  const k = values.shape[0] ?? 0;
  using inner = await times(vectors, cotangent, { transposeA: true });
  using row = values.reshape([1, k]);
  using column = values.reshape([k, 1]);
  using differences: Tensor = await row.sub(column);
  // vectors of equal values turn into one another freely: what depends on them as a space does not see it
  using most = await values.abs().max();
  using isEqual = await differences.abs().le(most.mul(Math.sqrt(unitOf(dtype))));
  using weights: Tensor = await isEqual.where(0, inner.div(isEqual.where(1, differences)));
  const within = await times(vectors, weights);
  if (k === shape[0]) return within;
  using inside = within;
  // twice, so that nothing of them is left in what may be small
  using once = await beside(cotangent, vectors);
  using right = await beside(once, vectors);
  const sign = which === 'largest' ? 1 : -1;
  const rest = operatorOf({
    shape,
    dtype,
    device,
    rmatvec: 'symmetric',
    parameters: [...tensors, vectors, values],
    capturable: operator.isCapturable,
    // of column j with value j: all columns are solved at once
    matvec: async (x, given) => {
      const [v, own] = given.slice(-2) as [Tensor, Tensor];
      using free = await beside(x, v);
      using image = await operator.withParameters(given.slice(0, -2)).matvec(free as never);
      using difference: Tensor = await free.mul(own).sub(image).mul(sign);
      using kept = await beside(difference, v);
      // positive among the vectors too, where only rounding leads
      return await x.sub(free).mul(scale).add(kept);
    },
  });
  const solution = await cg(rest, right as never, { rtol, signal });
  if (!solution.converged) throw new NotConvergedError('the gradient of eigenvectors', solution);
  using outside = solution.x;
  return await inside.add(outside.mul(sign));
}
