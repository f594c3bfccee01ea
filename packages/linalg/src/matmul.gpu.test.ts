import { devices } from '@mercer/tensor';
import { it } from 'vitest';
import { matmulSuite } from './matmul-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('matmul on a GPU: no device');

for (const gpu of gpus) {
  matmulSuite(`on ${gpu.id}`, () => gpu, { scatters: true });
  for (const precision of ['float32', 'tf32', 'tf32x3'] as const) {
    matmulSuite(`on ${gpu.id}`, () => gpu, { scatters: true, precision });
  }
}
