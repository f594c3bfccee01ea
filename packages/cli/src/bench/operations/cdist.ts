import { cdist } from '@mercer/core';
import { oneResult } from './operation.js';
import { pairwiseOperation } from './pairwise.js';

/** Distances of the p-norm. */
export const cdistOperation = pairwiseOperation({
  text: 'p-norm distances',
  prepare: async ({ p }, a, b) => {
    const call = await cdist.prepare(a, b, { p });
    return oneResult(call.plan.summary, (options) => call(a, b, options));
  },
});
