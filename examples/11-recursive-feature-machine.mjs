// 11. A recursive feature machine: kernel ridge regression that learns which features matter. Fit, take the gradients of the
//     fitted function at the training points, average their outer products (the AGOP), scale each feature by the root of its
//     diagonal, and fit again.
//
//     Data: 1237 earthquakes of one week in February 2018 from the US Geological Survey (public domain), as earthquakes.json in
//     the npm package vega-datasets (BSD-3-Clause). Target: the magnitude. Features: longitude and latitude in degrees, depth
//     in km, number of stations, distance of the nearest one and largest gap between them in degrees, residual of the travel
//     times in seconds, and indicators of the network, of the kind of magnitude and of whether a person has reviewed it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { kernels, runKernel, solveCholesky, tensor, weightedDifferences } from '@mercer/core';

const require = createRequire(import.meta.url);
const week = require('vega-datasets/data/earthquakes.json');
const measured = ['nst', 'dmin', 'gap', 'rms'];
const places = ['longitude', 'latitude', 'depth'];
const kinds = ['net', 'magType', 'status'];
const quakes = [...week.features].filter(({ properties }) =>
  ['mag', ...measured].every((name) => properties[name] !== null),
);
const features = new Map();
for (const name of measured) features.set(name, (i = 0) => quakes[i].properties[name]);
for (const [axis, name] of places.entries()) {
  features.set(name, (i = 0) => quakes[i].geometry.coordinates[axis]);
}
for (const kind of kinds) {
  for (const value of new Set(quakes.map(({ properties }) => properties[kind]))) {
    const is = (i = 0) => (quakes[i].properties[kind] === value ? 1 : 0);
    if (quakes.filter((_, i) => is(i) === 1).length >= 10) features.set(`${kind} = ${value}`, is);
  }
}
const names = [...features.keys()];
const n = names.length;

// A fixed shuffle; three quarters to learn from, the rest is looked at only to print its error.
let state = 1;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
for (let i = quakes.length - 1; i > 0; i--) {
  const j = Math.floor(random() * (i + 1));
  [quakes[i], quakes[j]] = [quakes[j], quakes[i]];
}
const count = Math.floor(quakes.length * 0.75);
const rest = quakes.length - count;

const table = new Float64Array(quakes.length * n); // standardised by mean and spread of what is learnt from
names.forEach((name, column) => {
  const values = quakes.map((_, i) => Number(features.get(name)(i)));
  const known = values.slice(0, count);
  const mean = known.reduce((sum, x) => sum + x, 0) / count;
  const spread = Math.sqrt(known.reduce((sum, x) => sum + (x - mean) ** 2, 0) / count);
  values.forEach((x, row) => (table[row * n + column] = (x - mean) / spread));
});
const magnitudes = Float64Array.from(quakes, ({ properties }) => properties.mag);
const level = magnitudes.subarray(0, count).reduce((sum, y) => sum + y, 0) / count;
const target = magnitudes.subarray(0, count).map((y) => y - level);

const bandwidth = 8;
const ridge = 0.1;
const train = await tensor(table.subarray(0, count * n), { shape: [count, n] });
const test = await tensor(table.subarray(count * n), { shape: [rest, n], device: train.device });
const right = await tensor(target, { shape: [count, 1], device: 'cpu' });
const trainRows = await train.transpose().contiguous();

let scales = new Float64Array(n).fill(1);
let importance = new Float64Array(n);
const errors = [];
for (let round = 0; round < 3; round++) {
  const scale = await tensor(scales, { device: train.device });

  // Fit: (K + ridge I) c = y. The regularised diagonal comes with the kernel.
  const regularised = await runKernel(kernels.laplace, train, {
    bandwidth,
    scale,
    regularization: ridge,
  });
  const { x } = await solveCholesky(await regularised.to('cpu'), right, { checkErrors: true });
  const coefficients = await x.toTypedArray();

  // Predict the earthquakes held out.
  const cross = await (
    await runKernel(kernels.laplace, test, train, { bandwidth, scale })
  ).toTypedArray();
  let squares = 0;
  for (let i = 0; i < rest; i++) {
    let predicted = level;
    for (let k = 0; k < count; k++)
      predicted += (coefficients[k] ?? 0) * (cross[i * count + k] ?? 0);
    squares += (predicted - (magnitudes[count + i] ?? 0)) ** 2;
  }
  errors.push(Math.sqrt(squares / rest));
  console.log(
    `round ${round}: error on ${rest} earthquakes held out ${errors[round]?.toFixed(3)} magnitudes`,
  );

  // The AGOP: gradients at all training points at once, then one product of the gradients with themselves.
  const c = await tensor(coefficients, { shape: [1, count], device: train.device });
  const scaled = await tensor(
    (await trainRows.toTypedArray()).map((x, i) => x * (scales[Math.floor(i / count)] ?? 1)),
    { shape: [n, count], device: train.device },
  );
  // The diagonal of the regularised matrix does not matter here: a difference of 0 contributes exactly 0.
  const sums = await weightedDifferences(regularised, scaled, c, scaled, { p: 1 });
  const gradients = sums.reshape([n, count]); // by the scaled features, up to the factor -1 / bandwidth
  const agop = await (await runKernel(kernels.dot, gradients)).toTypedArray();
  importance = scales.map((s, i) => (s / bandwidth) ** 2 * ((agop[i * n + i] ?? 0) / count));
  const mean = importance.reduce((sum, x) => sum + x, 0) / n;
  scales = importance.map((x) => Math.sqrt(x / mean));
}

const total = importance.reduce((sum, x) => sum + x, 0);
const ranked = names
  .map((name, i) => ({ name, share: (importance[i] ?? 0) / total }))
  .sort((x, y) => y.share - x.share);
console.log('\nwhat the machine looks at:');
for (const { name, share } of ranked.slice(0, 6)) {
  console.log(`${(100 * share).toFixed(1).padStart(6)}%  ${name}`);
}

const [before = 0, after = Infinity] = errors;
assert.ok(after < before, 'features learnt once lower the error on data held out');
assert.equal(ranked[0]?.name, 'longitude'); // where it is tells which network listens, and what it reports
