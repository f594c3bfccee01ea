export { cpuRandomKernel, type RandomNumbers } from './cpu-random.js';
