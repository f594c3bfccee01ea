export { cpuArgSortKernel, sortWorkspaceBytes } from './along-rows.js';
export { cpuCumSumKernel } from './along-rows.js';
