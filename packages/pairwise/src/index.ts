export { cdist, type Cdist } from './cdist.js';
export type { CdistOptions } from './cdist-options.js';
export { planOf } from './plan-of.js';
export type { PairwiseInput } from './place.js';
export type { PreparedCdist, PrepareCdist, PrepareCdistOptions } from './prepare-cdist.js';
export type { PairwiseDType, PairwisePlan } from '@mercer/kernels';
