import { isSpecialisedNorm, normExpressions } from '@mercer/kernels';
import { checkNorm, type CdistOptions } from './cdist-options.js';
import type { PairwiseSpec } from './pairwise-spec.js';

/** The spec of the last p, with the root and without it: calls with one p, the usual ones, share it. */
const last: { whole?: PairwiseSpec; skipped?: PairwiseSpec } = {};

/** What a call of `cdist` computes. @throws MercerError INVALID_ARGUMENT for p */
export function cdistSpec({ p = 2, skipEpilogue = false }: CdistOptions): PairwiseSpec {
  const place = skipEpilogue ? 'skipped' : 'whole';
  const same = last[place];
  if (same?.p === p) return same;
  checkNorm('cdist', p);
  const spec: PairwiseSpec = {
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
  last[place] = spec;
  return spec;
}
