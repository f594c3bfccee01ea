import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeCutDerivatives } from './derivatives-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('gradients of shards on a GPU: no device');

if (gpus[0] !== undefined) {
  const [gpu] = gpus;
  describe(`shards on ${gpu.id}`, () => {
    describeCutDerivatives(() => [gpu]);
  });
}

if (gpus.length > 1) {
  describe(`shards on ${gpus.map(({ id }) => id).join(' and ')}`, () => {
    describeCutDerivatives(() => gpus);
  });
}
