import { grad, perSampleGradients, type Device, type Tensor } from '@mercer/core';
import { relativeError } from '../autodiff/relative-error.js';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import type { OptimRow, OptimSizes } from './optim-row.js';
import { disposeAll, perceptronOf, sizeOf, tensorsOf } from './perceptron.js';

const STEPS = 5;

/** The gradients of each example, and their norms alone. */
export async function measurePerSample(
  device: Device,
  { perSample: [widths, batch] }: OptimSizes,
): Promise<readonly OptimRow[]> {
  const { params, loss, inputs, labels } = await perceptronOf(device, widths, batch);
  const each = await perSampleGradients(loss, params, inputs, labels);
  const whole = await grad(loss)(params, inputs, labels);
  const first = 'linear0';
  using mean = await (each[first]?.weight as Tensor).mean(0);
  const truth = await (whole[first]?.weight as Tensor).toTypedArray();
  const error = relativeError(await mean.toTypedArray(), Float64Array.from(truth, Number));
  disposeAll(each);
  disposeAll(whole);
  const common = { operation: 'perSample', library: 'mercer', n: batch * sizeOf(params) } as const;
  const tensors = tensorsOf(params).length;
  const gradients = await timeOfCalls(device, STEPS, async () => {
    disposeAll(await perSampleGradients(loss, params, inputs, labels));
  });
  const norms = await timeOfCalls(device, STEPS, async () => {
    const found = await perSampleGradients(loss, params, inputs, labels, { norms: true });
    disposeAll(found.norms);
    found.total.dispose();
  });
  disposeAll(params);
  return [
    { ...common, tensors, way: 'gradients of each example', us: gradients, error },
    { ...common, tensors, way: 'their norms', us: norms },
  ];
}
