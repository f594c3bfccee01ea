import { cdist } from '@mercer/core';
import { pairwiseOperation } from './pairwise.js';

/** Distances of the p-norm. */
export const cdistOperation = pairwiseOperation({
  text: 'p-norm distances',
  prepare: async ({ p }, a, b) => {
    const call = await cdist.prepare(a, b, { p });
    return {
      plan: call.plan.summary,
      run: (out) => call(a, b, out === undefined ? {} : { out }),
      dispose: () => undefined,
    };
  },
});
