export { cpuArgSortKernel, sortWorkspaceBytes } from './cpu-arg-sort.js';
export { cpuCumSumKernel } from './cpu-cum-sum.js';
