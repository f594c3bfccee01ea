// 21. Linear and logistic regression by gradient descent. A loss is an ordinary function of a record of parameters; `grad` gives a
//     record of gradients, and `valueAndGrad` the loss as well. The linear model predicts the mass of penguins and is compared with `lstsq`; the logistic
//     one tells Adelie penguins from others, and its derivatives are compared with plain loops.
//
//     Data: 342 penguins of three species at Palmer Station, Antarctica (Gorman, Williams and Fraser 2014, CC0), as penguins.json in
//     the npm package vega-datasets (BSD-3-Clause). Features are scaled to a mean of 0 and a standard deviation of 1.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { savePlot } from '@mercer/cli/plot';
import { grad, lstsq, tensor, valueAndGrad, zeros } from '@mercer/core';
import * as Plot from '@observablehq/plot';

const require = createRequire(import.meta.url);
const penguins = [...require('vega-datasets/data/penguins.json')].filter(
  (bird) => bird['Body Mass (g)'] !== null,
);
const N = penguins.length;
const columns = ['Beak Length (mm)', 'Beak Depth (mm)', 'Flipper Length (mm)'];
const raw = await tensor(
  Float64Array.from(penguins.flatMap((bird) => columns.map((name) => bird[name]))),
  { shape: [N, columns.length] },
);
const { device } = raw;
const nothing = (shape = [0]) => zeros(shape, { device, dtype: 'float64' });
const x = await raw.sub(raw.mean(0)).div(raw.std(0));
const masses = penguins.map((bird) => bird['Body Mass (g)'] / 1000);
const mass = await tensor(Float64Array.from(masses), { device });

// Linear: the mean squared error of x w + b.
let line = { w: await nothing([3]), b: await nothing([]) };
const squaredError = (model = line) => x.mul(model.w).sum(1).add(model.b).sub(mass).square().mean();
for (let step = 0; step < 400; step++) {
  const gradient = await grad(squaredError)(line);
  line = { w: await line.w.sub(gradient.w.mul(0.2)), b: await line.b.sub(gradient.b.mul(0.2)) };
}
const slopes = await line.w.toTypedArray();
columns.forEach((name, k) => console.log(`${name}: ${(slopes[k] ?? 0).toFixed(3)} kg`));
const direct = await lstsq(x, await mass.sub(mass.mean()).reshape([N, 1]));
const solved = await direct.x.toTypedArray();
slopes.forEach((slope, k) => assert.ok(Math.abs(slope - (solved[k] ?? 0)) < 1e-6));

// Logistic: the mean negative logarithm of the probability of what each penguin is, by two features. The probability of a sign s = 1
// or -1 at a score z is 1 / (1 + exp(-s z)), its negative logarithm softplus(-s z).
const signs = penguins.map((bird) => (bird.Species === 'Adelie' ? 1 : -1));
const sign = await tensor(Float64Array.from(signs), { device });
const plane = x.slice(null, [0, 2]);
let border = { w: await nothing([2]), b: await nothing([]) };
const surprise = (model = border) =>
  plane.mul(model.w).sum(1).add(model.b).mul(sign).neg().softplus().mean();
let [loss, slope] = [Infinity, border];
for (let step = 0; step < 300; step++) {
  const { value, grad } = await valueAndGrad(surprise)(border);
  const before = loss;
  loss = Number(await value.item());
  assert.ok(loss < before);
  slope = grad;
  border = { w: await border.w.sub(grad.w.mul(4)), b: await border.b.sub(grad.b.mul(4)) };
}

const points = await plane.toTypedArray();
const [w0 = 0, w1 = 0] = await border.w.toTypedArray();
const bias = Number(await border.b.item());
const score = (a = 0, b = 0) => w0 * a + w1 * b + bias;
const scores = signs.map((_, i) => score(points[2 * i], points[2 * i + 1]));
const right = scores.filter((z, i) => z * (signs[i] ?? 0) > 0).length;
console.log(`${right} of ${N} penguins on the right side, loss ${loss.toFixed(4)}`);
assert.ok(right > 0.97 * N);

// At the minimum the gradient is 0: in plain loops, and as it was computed in the last step.
const residuals = scores.map((z, i) => -(signs[i] ?? 0) / (1 + Math.exp((signs[i] ?? 0) * z)) / N);
const sums = [0, 1].map((k) =>
  residuals.reduce((sum, one, i) => sum + one * (points[2 * i + k] ?? 0), 0),
);
const computed = await slope.w.toTypedArray();
sums.forEach((one, k) => assert.ok(Math.abs(one - (computed[k] ?? 0)) < 1e-3));

// Grey: the probability of an Adelie penguin by the length and the depth of the beak. Dots: the penguins.
await savePlot('logistic-regression.svg', {
  aspectRatio: 1,
  x: { label: 'beak length, scaled' },
  y: { label: 'beak depth, scaled' },
  color: { scheme: 'greys', domain: [0, 2] },
  marks: [
    Plot.raster({
      x1: -2.5,
      x2: 3.5,
      y1: -2.5,
      y2: 2.5,
      fill: (a = 0, b = 0) => 1 / (1 + Math.exp(-score(a, b))),
    }),
    Plot.dot(signs, {
      x: (_, i) => points[2 * i],
      y: (_, i) => points[2 * i + 1],
      fill: (sign) => (sign === 1 ? '#1f77b4' : '#ff7f0e'),
    }),
  ],
});
console.log('wrote logistic-regression.svg');
