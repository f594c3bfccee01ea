export { cpuRandomKernel, type RandomNumbers } from './random-cpu.js';
