import {
  adam,
  adamW,
  kfac,
  lbfgs,
  muon,
  naturalGradient,
  sgd,
  shampoo,
  soap,
  type Optimiser,
} from '@mercer/core';
import type { Model } from './models.js';

export const OPTIMISER_NAMES = [
  'sgd',
  'adam',
  'adamW',
  'lbfgs',
  'muon',
  'shampoo',
  'soap',
  'kfac',
  'naturalGradient',
] as const;
export type OptimiserName = (typeof OPTIMISER_NAMES)[number];

interface Entry {
  /** Used where none is given. */
  readonly rate: number;
  /** What its steps need beside the gradient. */
  readonly needs?: 'evaluate' | 'statistics' | 'modelPerSample';
  readonly make: (lr: number, model: Model) => Optimiser;
}

/** Steps from one preconditioner to the next. */
const FREQUENCY = 10;

/** Each with the settings that its method is known for, and the learning rate that `mercer bench digits` chose for the perceptron. */
export const OPTIMISERS: Readonly<Record<OptimiserName, Entry>> = {
  sgd: { rate: 0.1, make: (lr) => sgd({ lr, momentum: 0.9, nesterov: true }) },
  adam: { rate: 1e-2, make: (lr) => adam({ lr }) },
  adamW: { rate: 1e-2, make: (lr) => adamW({ lr }) },
  lbfgs: {
    rate: 0.3,
    needs: 'evaluate',
    make: (lr) => lbfgs({ lr, maxIterations: 4, history: 10 }),
  },
  muon: {
    rate: 0.03,
    make: (lr, { last, plain }) =>
      muon({
        lr,
        matrices: (path, { rank }) => rank >= 2 && path !== last && !plain.includes(path),
        fallback: adamW({ lr: lr / 10 }),
      }),
  },
  shampoo: {
    rate: 1e-2,
    make: (lr) => shampoo({ lr, grafting: 'adam', frequency: FREQUENCY, eps: 1e-8 }),
  },
  soap: { rate: 1e-2, make: (lr) => soap({ lr, frequency: FREQUENCY }) },
  kfac: {
    rate: 0.1,
    needs: 'statistics',
    // no momentum, which would take steps beyond the norm constraint
    make: (lr, { plain }) =>
      kfac({ lr, damping: 0.01, frequency: FREQUENCY, normConstraint: 0.01, plain }),
  },
  naturalGradient: {
    rate: 0.1,
    needs: 'modelPerSample',
    make: (lr) => naturalGradient({ lr, fisher: 'true', damping: 0.1, normConstraint: 0.01 }),
  },
};
