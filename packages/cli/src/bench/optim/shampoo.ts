import { adam, prepare, shampoo, valueAndGrad, type Device, type Optimiser } from '@mercer/core';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import { RATE, type OptimRow, type OptimSizes } from './optim-row.js';
import { disposeAll, perceptronOf, sizeOf, tensorsOf } from './perceptron.js';

const WAYS: Readonly<Record<string, (frequency: number) => Optimiser>> = {
  'training step with adam': () => adam({ lr: RATE }),
  'training step with shampoo': (frequency) => shampoo({ lr: RATE, frequency }),
  'training step with shampoo, refreshed beside': (frequency) =>
    shampoo({ lr: RATE, frequency, delay: frequency / 2 }),
};

/** Whole training steps, value and gradients replayed, over as many steps as there are from one refresh of the roots to the next. */
export async function measureShampoo(
  device: Device,
  { trained: [widths, batch], frequency }: OptimSizes,
): Promise<readonly OptimRow[]> {
  const rows: OptimRow[] = [];
  for (const [way, make] of Object.entries(WAYS)) {
    const { params, loss, inputs, labels } = await perceptronOf(device, widths, batch);
    const gradient = await prepare(valueAndGrad(loss), params, inputs, labels);
    const optimiser = make(frequency);
    using state = await optimiser.init(params);
    const step = async (): Promise<void> => {
      const { value, grad } = gradient(params, inputs, labels);
      (await optimiser.step(params, grad, state)).skipped.dispose();
      value.dispose();
      disposeAll(grad);
    };
    // the first roots are there, and all is compiled
    for (let k = 0; k <= 2 * frequency; k++) await step();
    const us = await timeOfCalls(device, frequency, step);
    const tensors = tensorsOf(params).length;
    rows.push({ operation: 'shampoo', library: 'mercer', way, n: sizeOf(params), tensors, us });
    disposeAll(params);
  }
  return rows;
}
