import type { PairwiseProblem } from '@mercer/kernels';

/** A text that two problems share exactly when they are the same problem; expressions are interned, so ids suffice. */
export function problemKey(problem: PairwiseProblem): string {
  const { dtype, m, n, k, batch, inner, outer, reduce, p } = problem;
  const { layoutA, layoutB, layoutOut, alignedA, alignedB, alignedOut } = problem;
  const { parameters = [], symmetric = false, diagonal = '', products } = problem;
  const aligned = (alignedA ? 1 : 0) + (alignedB ? 2 : 0) + (alignedOut ? 4 : 0);
  const extras = `${parameters.join(',')} ${symmetric ? 'symmetric' : ''} ${diagonal} ${products === undefined ? '' : 'products'}`;
  return `${dtype} ${m} ${n} ${k} ${batch} ${inner.id} ${outer.id} ${reduce} ${p} ${layoutA} ${layoutB} ${layoutOut} ${aligned} ${extras}`;
}
