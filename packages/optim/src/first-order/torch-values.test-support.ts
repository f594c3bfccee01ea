import { readFileSync } from 'node:fs';
import type { LbfgsOptions } from '../index.js';

/** Values of torch.optim: see test/torch-optim.py. */
export const TORCH = JSON.parse(
  readFileSync(new URL('../../test/torch-optim.json', import.meta.url), 'utf8'),
) as {
  readonly firstOrder: readonly {
    readonly optimiser: 'sgd' | 'adam' | 'adamW';
    readonly options: object;
    readonly params: readonly (readonly number[])[];
  }[];
  readonly lbfgs: readonly {
    readonly options: LbfgsOptions;
    readonly points: readonly (readonly number[])[];
  }[];
};
