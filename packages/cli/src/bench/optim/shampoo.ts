import {
  adam,
  prepare,
  shampoo,
  tensor,
  valueAndGrad,
  type Device,
  type Optimiser,
  type OptimiserState,
} from '@mercer/core';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import { RATE, type OptimRow, type OptimSizes } from './optim-row.js';
import { disposeAll, perceptronOf, sizeOf, tensorsOf, type Perceptron } from './perceptron.js';

/** A whole training step. */
interface Training extends Perceptron {
  readonly optimiser: Optimiser;
  readonly state: OptimiserState;
}

/** How a step is taken: what is prepared for it, which gives the step. */
type Taking = (training: Training, frequency: number) => Promise<() => Promise<void>>;

/** Value and gradients replayed, and the optimiser's step called. */
const called: Taking = async ({ optimiser, state, params, loss, inputs, labels }) => {
  const gradient = await prepare(valueAndGrad(loss), params, inputs, labels);
  return async () => {
    const { value, grad } = gradient(params, inputs, labels);
    (await optimiser.step(params, grad, state)).skipped.dispose();
    value.dispose();
    disposeAll(grad);
  };
};

/** All of it as one captured function. */
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
  return () => {
    step(inputs, labels).dispose();
    return Promise.resolve();
  };
};

/** A step with a refresh behind every `frequency` ones. */
const behind = (
  step: () => Promise<void>,
  frequency: number,
  refresh: () => Promise<void>,
): (() => Promise<void>) => {
  let steps = 0;
  return async () => {
    await step();
    if (++steps % frequency === 0) await refresh();
  };
};

const refreshed: Taking = async (training, frequency) => {
  const { optimiser, params, state } = training;
  const step = await replayed(training, frequency);
  return behind(step, frequency, async () => {
    (await optimiser.refresh(params, state)).failures.dispose();
  });
};

/** The refresh is captured too. */
const bothReplayed: Taking = async (training, frequency) => {
  const { optimiser, params, state, inputs } = training;
  const step = await replayed(training, frequency);
  const nothing = await tensor([0], { device: inputs.device });
  const refresh = await prepare(
    async (_: typeof nothing) => (await optimiser.refresh(params, state)).failures,
    nothing,
  );
  return behind(step, frequency, () => {
    refresh(nothing).dispose();
    return Promise.resolve();
  });
};

/** Roots by products are of a condition that float32 has digits for. */
const BY_PRODUCTS = { root: 'newton', eps: 1e-6 } as const;

const WAYS: Readonly<
  Record<string, readonly [make: (frequency: number) => Optimiser, taken: Taking]>
> = {
  'training step with adam': [() => adam({ lr: RATE }), called],
  'training step with adam, replayed': [() => adam({ lr: RATE }), replayed],
  'training step with shampoo': [(frequency) => shampoo({ lr: RATE, frequency }), called],
  'training step with shampoo, refreshed beside': [
    (frequency) => shampoo({ lr: RATE, frequency, delay: frequency / 2 }),
    called,
  ],
  'training step with shampoo, replayed': [
    () => shampoo({ lr: RATE, frequency: 'manual' }),
    refreshed,
  ],
  'training step with shampoo, replayed, with a replayed refresh by products': [
    () => shampoo({ lr: RATE, frequency: 'manual', ...BY_PRODUCTS }),
    bothReplayed,
  ],
};

/** Whole training steps, over as many steps as there are from one refresh of the roots to the next: its time is shared among them. */
export async function measureShampoo(
  device: Device,
  { trained: [widths, batch], frequency }: OptimSizes,
): Promise<readonly OptimRow[]> {
  const rows: OptimRow[] = [];
  for (const [way, [make, taken]] of Object.entries(WAYS)) {
    const perceptron = await perceptronOf(device, widths, batch);
    const { params } = perceptron;
    const optimiser = make(frequency);
    using state = await optimiser.init(params);
    const step = await taken({ ...perceptron, optimiser, state }, frequency);
    // the first roots are there, and all is compiled
    for (let k = 0; k <= 2 * frequency; k++) await step();
    const us = await timeOfCalls(device, frequency, step);
    const failuresOf = async (): Promise<number> => {
      using failures = (await optimiser.refresh(params, state)).failures;
      return Number(await failures.item());
    };
    const error = taken === refreshed || taken === bothReplayed ? await failuresOf() : undefined;
    rows.push({
      operation: 'shampoo',
      library: 'mercer',
      way,
      n: sizeOf(params),
      tensors: tensorsOf(params).length,
      us,
      ...(error !== undefined && { error }),
    });
    disposeAll(params);
  }
  return rows;
}
