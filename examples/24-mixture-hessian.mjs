// 24. The Hessian of a Gaussian mixture's log-likelihood: how far the data settle its parameters. Gradient descent and Newton's method
//     find two normal distributions in the lengths of penguins' flippers; `hessian` gives the second derivatives by the five parameters. At the
//     maximum their inverse is the estimated covariance of the parameters (Efron and Hinkley 1978), hence standard errors.
//
//     Data: 342 penguins of three species at Palmer Station, Antarctica (Gorman, Williams and Fraser 2014, CC0), as penguins.json in
//     the npm package vega-datasets (BSD-3-Clause).
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { savePlot } from '@mercer/cli/plot';
import { diag, grad, hessian, inv, solveLU, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';

const require = createRequire(import.meta.url);
const lengths = [...require('vega-datasets/data/penguins.json')]
  .map((bird) => bird['Flipper Length (mm)'])
  .filter((length) => length !== null)
  .map((length) => length / 10); // in cm
const N = lengths.length;
const x = await tensor(Float64Array.from(lengths), { shape: [N, 1] });
const { device } = x;

// Two means, two logarithms of standard deviations, and the logarithm of the odds of the first distribution.
let theta = await tensor(Float64Array.of(18.5, 22, -0.5, -0.5, 0), { device });

/** The negative logarithm of the likelihood of all lengths. */
async function surprise(of = theta) {
  const [means, logs, odds] = [of.slice([0, 2]), of.slice([2, 4]), of.slice([4, 5])];
  const scaled = x.sub(means).div(logs.exp()); // (N, 2)
  const normal = scaled
    .square()
    .mul(-0.5)
    .sub(logs)
    .sub(Math.log(2 * Math.PI) / 2);
  // logarithms of the weights 1 / (1 + exp(-odds)) and 1 / (1 + exp(odds))
  const signs = await tensor(Float64Array.of(-1, 1), { device });
  const weights = odds.mul(signs).softplus().neg();
  return normal.add(weights).logSumExp(1).sum().neg();
}

// Downhill first: far from the maximum Newton's method may go anywhere.
for (let step = 0; step < 200; step++) {
  theta = await theta.sub((await grad(surprise)(theta)).mul(0.002));
}
// Newton's method: each step solves H d = g.
let steepest = Infinity;
let steps = 0;
for (; steps < 20 && steepest > 1e-9; steps++) {
  const slopes = await grad(surprise)(theta);
  const second = await hessian(surprise)(theta); // (5, 5)
  const { x: step } = await solveLU(second, await slopes.reshape([5, 1]));
  theta = await theta.sub(step.reshape([5]));
  steepest = Math.max(...(await slopes.toTypedArray()).map(Math.abs));
}
const second = await hessian(surprise)(theta);
const { inverse: covariance } = await inv(second);
const found = await theta.toTypedArray();
const errors = await (await diag(covariance)).sqrt().toTypedArray();
console.log(
  `after ${steps} steps of Newton's method the largest slope is ${steepest.toExponential(1)}`,
);
const names = [
  'first mean',
  'second mean',
  'log of first deviation',
  'log of second',
  'log of odds',
];
names.forEach((name, k) =>
  console.log(`${name}: ${(found[k] ?? 0).toFixed(3)} +- ${(errors[k] ?? 0).toFixed(3)}`),
);

// The same value in plain loops, and second derivatives by differences of it.
function density(length = 0, [m1 = 0, m2 = 0, s1 = 0, s2 = 0, odds = 0] = [...found]) {
  const normal = (m = 0, s = 0) =>
    Math.exp(-(((length - m) / Math.exp(s)) ** 2) / 2 - s) / Math.sqrt(2 * Math.PI);
  const weight = 1 / (1 + Math.exp(-odds));
  return weight * normal(m1, s1) + (1 - weight) * normal(m2, s2);
}
const surpriseInLoops = (of = [...found]) =>
  lengths.reduce((sum, length) => sum - Math.log(density(length, of)), 0);
assert.ok(steepest <= 1e-9);
assert.ok(Math.abs(surpriseInLoops() - Number(await (await surprise(theta)).item())) < 1e-9);
const hessianFound = await second.toTypedArray();
const h = 1e-3;
const moved = (k = 0, by = 0, l = 0, and = 0) =>
  surpriseInLoops([...found].map((one, m) => one + (m === k ? by : 0) + (m === l ? and : 0)));
for (let k = 0; k < 5; k++) {
  for (let l = 0; l < 5; l++) {
    const apart = moved(k, h, l, h) - moved(k, h, l, -h) - moved(k, -h, l, h) + moved(k, -h, l, -h);
    const wanted = apart / (4 * h * h);
    assert.ok(Math.abs((hessianFound[5 * k + l] ?? 0) - wanted) < 1e-3 * (1 + Math.abs(wanted)));
  }
}

// Grey: how many penguins there are by millimetre, as a density. Red: the mixture.
const bars = Array.from({ length: 64 }, (_, k) => 170 + k).map((mm) => {
  const count = lengths.filter((length) => Math.round(10 * length) === mm).length;
  return { length: mm / 10, density: (10 * count) / N };
});
const curve = Array.from({ length: 661 }, (_, k) => 16.8 + k / 100);
await savePlot('mixture-hessian.svg', {
  x: { label: 'length of the flipper, cm' },
  y: { label: 'density by cm' },
  marks: [
    Plot.ruleX(bars, { x: 'length', y: 'density', stroke: '#bbb', strokeWidth: 6 }),
    Plot.lineY(curve, {
      x: Plot.identity,
      y: (length) => density(length),
      stroke: '#d62728',
      strokeWidth: 3,
    }),
  ],
});
console.log('wrote mixture-hessian.svg');
