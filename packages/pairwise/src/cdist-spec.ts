import { isSpecialisedNorm, normExpressions } from '@mercer/kernels';
import { checkNorm, type CdistOptions } from './cdist-options.js';
import type { PairwiseSpec } from './pairwise-spec.js';

/** What a call of `cdist` computes. @throws MercerError INVALID_ARGUMENT for p */
export function cdistSpec({ p = 2, skipEpilogue = false }: CdistOptions): PairwiseSpec {
  checkNorm(p);
  return {
    what: 'cdist',
    expressions: normExpressions(isSpecialisedNorm(p) ? p : 'runtime', { skipEpilogue }),
    p,
    parameters: [],
    symmetric: false,
    align: true,
    diagonal: undefined,
    rows: undefined,
    check: undefined,
  };
}
