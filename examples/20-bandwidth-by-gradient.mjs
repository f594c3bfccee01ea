// 20. The bandwidth of a kernel by gradient descent. Each penguin's body mass is predicted from the other penguins, as the mean of
//     their masses weighed by a Gaussian kernel (Nadaraya and Watson's regression). The mean squared error of these predictions is a
//     function of the bandwidth. `valueAndGrad` gives its derivative through the kernel matrix, whose diagonal counts for nothing.
//
//     Data: 342 penguins of three species at Palmer Station, Antarctica (Gorman, Williams and Fraser 2014, CC0), as penguins.json in
//     the npm package vega-datasets (BSD-3-Clause). Features: length and depth of the beak and length of the flipper, each scaled
//     to a standard deviation of 1.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { savePlot } from '@mercer/cli/plot';
import { eye, kernels, runKernel, tensor, valueAndGrad } from '@mercer/core';
import * as Plot from '@observablehq/plot';

const require = createRequire(import.meta.url);
const columns = ['Beak Length (mm)', 'Beak Depth (mm)', 'Flipper Length (mm)'];
const penguins = [...require('vega-datasets/data/penguins.json')].filter(
  (bird) => bird['Body Mass (g)'] !== null,
);
const N = penguins.length;
const raw = await tensor(
  Float64Array.from(penguins.flatMap((bird) => columns.map((name) => bird[name]))),
  { shape: [N, columns.length] },
);
const { device } = raw;
const points = await raw.sub(raw.mean(0)).div(raw.std(0));
const masses = await tensor(
  Float64Array.from(penguins, (bird) => bird['Body Mass (g)'] / 1000),
  { device },
);
// 0 on the diagonal: no penguin takes part in its own prediction
const others = await (await eye(N, { dtype: 'float64', device })).neg().add(1);

const start = await tensor(Float64Array.of(1), { shape: [], device });
/** The mean squared error of leaving one out, by the logarithm of the bandwidth: so the bandwidth stays positive. */
async function error(logBandwidth = start) {
  const bandwidth = await logBandwidth.exp();
  const weights = (await runKernel(kernels.gaussian, points, { bandwidth })).mul(others);
  const predictions = weights.mul(masses).sum(1).div(weights.sum(1));
  return predictions.sub(masses).square().mean();
}

const descend = valueAndGrad(error);
const steps = [];
let logBandwidth = start;
let slope = Infinity;
for (let step = 0; step < 60 && Math.abs(slope) > 1e-6; step++) {
  const { value, grad } = await descend(logBandwidth);
  assert.ok(grad);
  slope = Number(await grad.item());
  steps.push({
    bandwidth: Math.exp(Number(await logBandwidth.item())),
    value: Number(await value.item()),
  });
  logBandwidth = await logBandwidth.sub(grad.mul(4));
}
const found = steps.at(-1);
assert.ok(found);
console.log(
  `after ${steps.length} steps the bandwidth is ${found.bandwidth.toFixed(4)}, the error ${(1000 * Math.sqrt(found.value)).toFixed(0)} g`,
);

// The same error from plain loops, at bandwidths around it.
const [features, truth] = [await points.toTypedArray(), await masses.toTypedArray()];
function errorInLoops(bandwidth = 1) {
  let sum = 0;
  for (let i = 0; i < N; i++) {
    let [weighed, weights] = [0, 0];
    for (let j = 0; j < N; j++) {
      if (j === i) continue;
      let squares = 0;
      for (let k = 0; k < 3; k++)
        squares += ((features[3 * i + k] ?? 0) - (features[3 * j + k] ?? 0)) ** 2;
      const weight = Math.exp(-squares / (2 * bandwidth ** 2));
      weighed += weight * (truth[j] ?? 0);
      weights += weight;
    }
    sum += (weighed / weights - (truth[i] ?? 0)) ** 2;
  }
  return sum / N;
}
assert.ok(Math.abs(slope) <= 1e-6);
assert.ok(Math.abs(errorInLoops(found.bandwidth) - found.value) < 1e-9);
for (const factor of [0.5, 0.9, 1.1, 2]) {
  assert.ok(errorInLoops(factor * found.bandwidth) > found.value);
}

// Grey: the error over the bandwidth. Red: the steps.
const curve = Array.from({ length: 121 }, (_, k) => Math.exp(-2 + k / 40));
await savePlot('bandwidth-by-gradient.svg', {
  x: { type: 'log', label: 'bandwidth' },
  y: { label: 'mean squared error, kg²' },
  marks: [
    Plot.line(
      curve.map((bandwidth) => [bandwidth, errorInLoops(bandwidth)]),
      { stroke: 'grey' },
    ),
    Plot.dot(steps, { x: 'bandwidth', y: 'value', fill: '#d62728' }),
  ],
});
console.log('wrote bandwidth-by-gradient.svg');
