// 18. A mixture of Gaussians by gradient ascent. The logarithm of its density at a point is a log-sum-exp over the components, of a
//     matrix (points x components) that is never stored. `valueAndGradients` gives it for all points, and its gradients by means,
//     precisions and weights: these are sums over the points, and one pass computes all three. Only a few numbers come to the
//     host, where Adam takes a step; every step runs the kernels of the first one.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, tensor, valueAndGradients } from '@mercer/core';
import * as Plot from '@observablehq/plot';

let state = 18;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const truth = [
  { x: -1, y: 0.5, deviation: 0.2, weight: 0.5 },
  { x: 0.8, y: 0.9, deviation: 0.35, weight: 0.3 },
  { x: 0.5, y: -0.8, deviation: 0.15, weight: 0.2 },
];
const [N, K] = [3000, truth.length];
const points = Float32Array.from(
  truth.flatMap(({ x, y, deviation, weight }) =>
    Array.from({ length: N * weight }, () => [
      x + deviation * normal(),
      y + deviation * normal(),
    ]).flat(),
  ),
);
const data = await tensor(points, { shape: [N, 2] });
const { device } = data;
const x = lazyI(data);

/**
 * The mean of the log density over the points, and its gradient by all parameters: K times two coordinates of a mean, K
 * logarithms of a precision, K logarithms of weights that are scaled to a sum of 1.
 */
async function likelihood(parameters = new Float32Array(4 * K)) {
  const logits = parameters.subarray(3 * K);
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
  const column = (values = logits) => tensor(values, { shape: [K, values.length / K], device });
  const mean = lazyJ(await column(parameters.subarray(0, 2 * K)));
  const scale = lazyJ(await column(parameters.subarray(2 * K, 3 * K)));
  const logWeight = lazyJ(await column(logits.map((logit) => logit - total)));
  const exponent = x.sqdist(mean).mul(scale.exp()).div(-2).add(scale).add(logWeight);
  const density = exponent.sub(Math.log(2 * Math.PI)).reduction('LogSumExp', 'j');

  const { value, gradients } = await valueAndGradients(density, { mean, scale, logWeight });
  const logs = await value.toTypedArray();
  const [byMean, byScale, byWeight] = [
    await gradients.mean.toTypedArray(),
    await gradients.scale.toTypedArray(),
    await gradients.logWeight.toTypedArray(),
  ];
  // A logit moves its own weight, and by the sum all others.
  const all = byWeight.reduce((sum, slope) => sum + slope, 0);
  const byLogit = byWeight.map((slope, k) => slope - all * Math.exp((logits[k] ?? 0) - total));
  return {
    mean: logs.reduce((sum, log) => sum + log, 0) / N,
    gradient: Float64Array.of(...byMean, ...byScale, ...byLogit).map((slope) => slope / N),
  };
}

const start = Float32Array.of(-0.3, 0, 0.3, 0.3, 0.3, -0.3, ...[0, 0, 0], ...[0, 0, 0]);
const first = await likelihood(start);
for (const [at, slope] of first.gradient.entries()) {
  const moved = async (by = 0) => (await likelihood(start.with(at, (start[at] ?? 0) + by))).mean;
  const difference = ((await moved(0.01)) - (await moved(-0.01))) / 0.02;
  assert.ok(Math.abs(slope - difference) < 1e-3, `slope ${at}: ${slope}, not ${difference}`);
}

// Adam (Kingma and Ba, 2015).
let parameters = start;
const [speed, square] = [new Float64Array(4 * K), new Float64Array(4 * K)];
for (let step = 1; step <= 200; step++) {
  const { mean, gradient } = await likelihood(parameters);
  if (step % 50 === 1) console.log(`step ${step}: mean log density ${mean.toFixed(4)}`);
  parameters = parameters.map((parameter, at) => {
    const slope = gradient[at] ?? 0;
    speed[at] = 0.9 * (speed[at] ?? 0) + 0.1 * slope;
    square[at] = 0.99 * (square[at] ?? 0) + 0.01 * slope ** 2;
    const [m, v] = [(speed[at] ?? 0) / (1 - 0.9 ** step), (square[at] ?? 0) / (1 - 0.99 ** step)];
    return parameter + (0.05 * m) / (Math.sqrt(v) + 1e-8);
  });
}

const best = await likelihood(parameters);
const found = truth.map((_, k) => ({
  x: parameters[2 * k] ?? 0,
  y: parameters[2 * k + 1] ?? 0,
  deviation: Math.exp(-(parameters[2 * K + k] ?? 0) / 2),
}));
for (const { x: u, y: v, deviation } of found) {
  console.log(`component at (${u.toFixed(2)}, ${v.toFixed(2)}), deviation ${deviation.toFixed(2)}`);
}

const nearest = (i = 0) => {
  const squares = found.map(
    ({ x: u, y: v, deviation }) =>
      Math.hypot((points[2 * i] ?? 0) - u, (points[2 * i + 1] ?? 0) - v) / deviation,
  );
  return squares.indexOf(Math.min(...squares));
};
await savePlot('gaussian-mixture.svg', {
  aspectRatio: 1,
  color: { type: 'categorical' },
  marks: [
    Plot.dot(
      { length: N },
      {
        x: (_, i) => points[2 * i],
        y: (_, i) => points[2 * i + 1],
        r: 1.5,
        fill: (_, i) => nearest(i),
      },
    ),
    Plot.dot(found, { x: 'x', y: 'y', r: 6, fill: 'black' }),
  ],
});
console.log('wrote gaussian-mixture.svg');

const ofTruth = await likelihood(
  Float32Array.of(
    ...truth.flatMap(({ x: u, y: v }) => [u, v]),
    ...truth.map(({ deviation }) => -2 * Math.log(deviation)),
    ...truth.map(({ weight }) => Math.log(weight)),
  ),
);
console.log(`mean log density ${best.mean.toFixed(4)}, of the truth ${ofTruth.mean.toFixed(4)}`);
assert.ok(best.mean > ofTruth.mean - 0.005);
for (const one of truth) {
  const distances = found.map(({ x: u, y: v }) => Math.hypot(u - one.x, v - one.y));
  assert.ok(Math.min(...distances) < 0.05);
}
