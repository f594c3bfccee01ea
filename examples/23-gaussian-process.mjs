// 23. A Gaussian process whose parameters are found by gradient: the length over which temperatures resemble each other, their spread
//     and the noise of one year. The negative logarithm of the marginal likelihood is computed through a Cholesky factor
//     (Rasmussen and Williams 2006, equation 2.30), and `valueAndGrad` differentiates through the kernel matrix and the factor.
//
//     Data: the deviation of each year's mean temperature from that of 1901 to 2000, in degrees Celsius (NOAA), as global-temp.csv in
//     the npm package vega-datasets (BSD-3-Clause).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { savePlot } from '@mercer/cli/plot';
import {
  cholesky,
  diag,
  eye,
  kernels,
  runKernel,
  solveCholesky,
  solveTriangular,
  tensor,
  valueAndGrad,
} from '@mercer/core';
import * as Plot from '@observablehq/plot';

const require = createRequire(import.meta.url);
const lines = readFileSync(require.resolve('vega-datasets/data/global-temp.csv'), 'utf8');
const rows = lines.trim().split('\n').slice(1);
const years = rows.map((row) => Number(row.split(',')[0]));
const N = years.length;
// in decades, so that all parameters are near 1
const x = await tensor(
  Float64Array.from(years, (year) => (year - 1950) / 10),
  { shape: [N, 1] },
);
const { device } = x;
const y = await tensor(
  Float64Array.from(rows, (row) => Number(row.split(',')[1])),
  { shape: [N, 1], device },
);
const identity = await eye(N, { dtype: 'float64', device });
const number = (value = 0) => tensor(Float64Array.of(value), { shape: [], device });

// Logarithms of the parameters, so that they stay positive: of the length in decades, the spread and the noise in degrees.
let model = { length: await number(0), spread: await number(-1), noise: await number(-1) };

/** How years resemble others: spread^2 exp(-distance^2 / (2 length^2)). */
async function covariance(of = model, left = x, right = x) {
  const bandwidth = await of.length.exp();
  const kernel = await runKernel(kernels.gaussian, left, right, { bandwidth });
  return kernel.mul(of.spread.mul(2).exp());
}

/** The factor L of the covariance L L^T of what was measured, noise included. */
async function factorOf(of = model) {
  const alike = await covariance(of);
  const { factor } = await cholesky(await alike.add(identity.mul(of.noise.mul(2).exp())));
  return factor;
}

/** The negative logarithm of the likelihood, for each year: with z = L^-1 y, z^2 / 2 + log L[i, i] + log(2 pi) / 2 on average. */
async function surprise(of = model) {
  const factor = await factorOf(of);
  const { x: z } = await solveTriangular(factor, y);
  const logarithms = (await diag(factor)).log();
  return z
    .square()
    .sum(1)
    .div(2)
    .add(logarithms)
    .mean()
    .add(Math.log(2 * Math.PI) / 2);
}

const descend = valueAndGrad(surprise);
let value = NaN;
let steepest = Infinity;
let steps = 0;
for (; steps < 400 && steepest > 1e-5; steps++) {
  const { value: loss, grad } = await descend(model);
  value = Number(await loss.item());
  const slopes = await Promise.all(
    Object.values(grad).map(async (one) => Number(await one.item())),
  );
  steepest = Math.max(...slopes.map(Math.abs));
  model = {
    length: await model.length.sub(grad.length.mul(0.5)),
    spread: await model.spread.sub(grad.spread.mul(0.5)),
    noise: await model.noise.sub(grad.noise.mul(0.5)),
  };
}
const logs = [model.length, model.spread, model.noise];
const [length = 0, spread = 0, noise = 0] = await Promise.all(
  logs.map(async (one) => Math.exp(Number(await one.item()))),
);
console.log(
  `after ${steps} steps: length ${(10 * length).toFixed(1)} years, spread ${spread.toFixed(3)} and noise ${noise.toFixed(3)} degrees`,
);

// The same value in plain loops; around what was found it is larger.
const [at, measured] = [await x.toTypedArray(), await y.toTypedArray()];
function surpriseInLoops(h = length, s = spread, e = noise) {
  const l = Array.from({ length: N }, () => new Float64Array(N));
  let sum = 0;
  const z = new Float64Array(N);
  for (let i = 0; i < N; i++) {
    const row = l[i] ?? z;
    for (let j = 0; j <= i; j++) {
      const distance = (at[i] ?? 0) - (at[j] ?? 0);
      let rest = s * s * Math.exp(-(distance ** 2) / (2 * h * h)) + (i === j ? e * e : 0);
      const other = l[j] ?? z;
      for (let k = 0; k < j; k++) rest -= (row[k] ?? 0) * (other[k] ?? 0);
      row[j] = i === j ? Math.sqrt(rest) : rest / (other[j] ?? 0);
    }
    let rest = measured[i] ?? 0;
    for (let k = 0; k < i; k++) rest -= (row[k] ?? 0) * (z[k] ?? 0);
    z[i] = rest / (row[i] ?? 0);
    sum += (z[i] ?? 0) ** 2 / 2 + Math.log(row[i] ?? 0) + Math.log(2 * Math.PI) / 2;
  }
  return sum / N;
}
assert.ok(steepest <= 1e-5);
assert.ok(Math.abs(surpriseInLoops() - value) < 1e-8);
for (const factor of [0.8, 0.95, 1.05, 1.25]) {
  assert.ok(surpriseInLoops(factor * length) > value);
  assert.ok(surpriseInLoops(length, factor * spread) > value);
  assert.ok(surpriseInLoops(length, spread, factor * noise) > value);
}

// What the process says of every quarter from 1875 to 2030: a mean k^T K^-1 y and a variance k(0) - |L^-1 k|^2.
const QUARTERS = 620;
const times = Array.from({ length: QUARTERS }, (_, i) => 1875 + i / 4);
const asked = Float64Array.from(times, (year) => (year - 1950) / 10);
const between = await covariance(model, x, await tensor(asked, { shape: [QUARTERS, 1], device }));
const factor = await factorOf(model);
const { x: whitened } = await solveTriangular(factor, await between);
const { x: weights } = await solveCholesky(await factor.matmul(factor.transpose()), y);
const means = await between.mul(weights).sum(0).toTypedArray();
const variances = await whitened
  .square()
  .sum(0)
  .neg()
  .add(spread ** 2)
  .toTypedArray();

// Grey: the mean and two standard deviations to each side. Dots: what was measured.
const said = times.map((year, i) => {
  const [mean, twice] = [means[i] ?? 0, 2 * Math.sqrt(variances[i] ?? 0)];
  return { year, mean, low: mean - twice, high: mean + twice };
});
await savePlot('gaussian-process.svg', {
  x: { label: 'year', tickFormat: 'd' },
  y: { label: 'degrees Celsius above 1901 to 2000' },
  marks: [
    Plot.areaY(said, { x: 'year', y1: 'low', y2: 'high', fill: '#ccc' }),
    Plot.lineY(said, { x: 'year', y: 'mean', stroke: '#555' }),
    Plot.dot(measured, { x: years, y: Plot.identity, fill: '#1f77b4' }),
  ],
});
console.log('wrote gaussian-process.svg');
