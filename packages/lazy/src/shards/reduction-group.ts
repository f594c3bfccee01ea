import type { ProcessGroup } from '@mercer/tensor';

/** What reductions need of a group of processes: `joinGroup` gives one. */
export type ReductionGroup = Pick<ProcessGroup, 'size' | 'rank' | 'device' | 'allGather'>;
