import { isSpecialisedNorm, normExpressions, type PairwiseProblem } from '@mercer/kernels';
import { problemLayouts, type Operand, type PairwiseShape } from './operands.js';

/** The problem of a p-norm distance over operands of these shapes and layouts. */
export function cdistProblem(
  shape: PairwiseShape,
  [a, b, out]: readonly [a: Operand, b: Operand, out: Operand],
  p: number,
  skipEpilogue: boolean,
): PairwiseProblem {
  const { dtype, m, n, k, batch } = shape;
  return {
    ...normExpressions(isSpecialisedNorm(p) ? p : 'runtime', { skipEpilogue }),
    ...{ dtype, m, n, k, batch, p },
    ...problemLayouts(a, b, out),
  };
}
