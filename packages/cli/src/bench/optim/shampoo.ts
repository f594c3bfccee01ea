import {
  adam,
  prepare,
  shampoo,
  tensor,
  valueAndGrad,
  type Device,
  type Optimiser,
  type OptimiserState,
  type ShampooOptions,
} from '@mercer/core';
import type { Spread } from '../statistics.js';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import { failuresOf } from './failures-of.js';
import { RATE, type OptimRow, type OptimSizes } from './optim-row.js';
import { disposeAll, perceptronOf, sizeOf, tensorsOf, type Perceptron } from './perceptron.js';

/** Refreshes that follow one another in a time. */
const REFRESHES = 4;

/** A whole training step. */
interface Training extends Perceptron {
  readonly optimiser: Optimiser;
  readonly state: OptimiserState;
}

/** What a training does, each in a call. */
interface Taken {
  readonly step: () => Promise<void>;
  /** Where steps do not refresh by themselves. */
  readonly refresh?: () => Promise<void>;
}

/** How a training is done: what is prepared for it. */
type Taking = (training: Training) => Promise<Taken>;

/** Value and gradients replayed, and the optimiser's step called. */
const called: Taking = async ({ optimiser, state, params, loss, inputs, labels }) => {
  const gradient = await prepare(valueAndGrad(loss), params, inputs, labels);
  return {
    async step() {
      const { value, grad } = gradient(params, inputs, labels);
      (await optimiser.step(params, grad, state)).skipped.dispose();
      value.dispose();
      disposeAll(grad);
    },
  };
};

/** A whole step as one captured function. */
const replayed: Taking = async ({ optimiser, state, params, loss, inputs, labels }) => {
  const descent = valueAndGrad(loss);
  const step = await prepare(
    async (x: typeof inputs, wanted: typeof labels) => {
      const { value, grad } = await descent(params, x, wanted);
      (await optimiser.step(params, grad, state)).skipped.dispose();
      disposeAll(grad);
      return value;
    },
    inputs,
    labels,
  );
  return {
    step() {
      step(inputs, labels).dispose();
      return Promise.resolve();
    },
  };
};

/** Refreshes are calls between replays. */
const refreshed: Taking = async (training) => {
  const { optimiser, params, state } = training;
  return {
    ...(await replayed(training)),
    async refresh() {
      (await optimiser.refresh(params, state)).failures.dispose();
    },
  };
};

/** The refresh is captured too. */
const bothReplayed: Taking = async (training) => {
  const { optimiser, params, state, inputs } = training;
  const step = await replayed(training);
  const nothing = await tensor([0], { device: inputs.device });
  const refresh = await prepare(
    async (_: typeof nothing) => (await optimiser.refresh(params, state)).failures,
    nothing,
  );
  return {
    ...step,
    refresh() {
      refresh(nothing).dispose();
      return Promise.resolve();
    },
  };
};

/** A step with a refresh behind every `frequency` ones. */
const behind = ({ step, refresh }: Taken, frequency: number): (() => Promise<void>) => {
  let steps = 0;
  return async () => {
    await step();
    if (++steps % frequency === 0) await refresh?.();
  };
};

const BY_PRODUCTS = { root: 'newton', eps: 1e-6 } as const;
/** Fewer steps of more products, which come as far as the default of 'newton'. */
const OF_HIGHER_ORDER = { root: 'higherOrder', rootSteps: 20, eps: 1e-6 } as const;

interface Way {
  readonly make: (frequency: number) => Optimiser;
  readonly taken: Taking;
  /** Whether a step by itself is a row too. */
  readonly isStepAlone?: boolean;
  /** What a refresh by itself is called, as a row. */
  readonly refresh?: string;
}

const manual = (options: ShampooOptions): (() => Optimiser) => {
  return () => shampoo({ lr: RATE, frequency: 'manual', ...options });
};

const WAYS: Readonly<Record<string, Way>> = {
  'training step with adam': { make: () => adam({ lr: RATE }), taken: called },
  'training step with adam, replayed': { make: () => adam({ lr: RATE }), taken: replayed },
  'training step with shampoo': {
    make: (frequency) => shampoo({ lr: RATE, frequency }),
    taken: called,
  },
  'training step with shampoo, refreshed beside': {
    make: (frequency) => shampoo({ lr: RATE, frequency, delay: frequency / 2 }),
    taken: called,
  },
  'training step with shampoo, replayed': {
    make: manual({}),
    taken: refreshed,
    refresh: 'refresh of shampoo by eigenvalues, called',
  },
  'training step with shampoo, replayed, with a replayed refresh by products': {
    make: manual(BY_PRODUCTS),
    taken: bothReplayed,
    isStepAlone: true,
    refresh: 'refresh of shampoo by products, replayed',
  },
  'training step with shampoo, replayed, with a replayed refresh by products of higher order': {
    make: manual(OF_HIGHER_ORDER),
    taken: bothReplayed,
    refresh: 'refresh of shampoo by products of higher order, replayed',
  },
  'training step with shampoo, replayed in tf32, with a replayed refresh by products': {
    make: manual({ ...BY_PRODUCTS, precision: 'tf32' }),
    taken: bothReplayed,
  },
};

/**
 * Whole training steps, over as many as there are from one refresh of the roots to the next: its time is shared among them. And by themselves a step without a
 * refresh, and refreshes.
 *
 * @throws CliError NO_PRECONDITIONER where a root could not be computed
 */
export async function measureShampoo(
  device: Device,
  { trained: [widths, batch], frequency }: OptimSizes,
): Promise<readonly OptimRow[]> {
  const rows: OptimRow[] = [];
  for (const [way, { make, taken, isStepAlone = false, refresh: named }] of Object.entries(WAYS)) {
    const perceptron = await perceptronOf(device, widths, batch);
    const { params } = perceptron;
    const optimiser = make(frequency);
    using state = await optimiser.init(params);
    const own = await taken({ ...perceptron, optimiser, state });
    const step = behind(own, frequency);
    // the first roots are there, and all is compiled
    for (let k = 0; k <= 2 * frequency; k++) await step();
    const all = { n: sizeOf(params), tensors: tensorsOf(params).length };
    const row = async (what: string, us: Spread, shared?: OptimRow['shared']): Promise<void> => {
      const common = { operation: 'shampoo', library: 'mercer', way: what, ...all, us } as const;
      const failures = await failuresOf(what, state);
      rows.push({
        ...common,
        ...(shared && { shared }),
        ...(failures !== undefined && { failures }),
      });
    };
    const us = await timeOfCalls(device, frequency, step);
    const refreshes = optimiser.name === 'shampoo' ? 1 : 0;
    await row(way, us, { steps: frequency, refreshes });
    if (isStepAlone) {
      const alone = await timeOfCalls(device, frequency, own.step);
      await row(`${way.split(', with')[0]}, no refresh`, alone, { steps: frequency, refreshes: 0 });
    }
    if (named !== undefined && own.refresh) {
      await row(named, await timeOfCalls(device, REFRESHES, own.refresh));
    }
    disposeAll(params);
  }
  return rows;
}
