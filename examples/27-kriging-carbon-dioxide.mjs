// 27. Kriging, or regression by a Gaussian process: carbon dioxide in the air over Mauna Loa, and what the series says of the years to
//     come. The kernel is a sum of four (Rasmussen and Williams 2006, section 5.4.3, with their parameters): a slow rise, a season whose
//     shape drifts, medium irregularities, and errors that last some weeks. Means and variances need solutions with K + noise I, the
//     variances one for each month asked, so one `cg` has hundreds of right-hand sides. K is a formula; no matrix of rows x rows is stored.
//
//     Data: monthly means at Mauna Loa in ppm (Keeling et al. 2001, Scripps CO2 Program, CC BY 4.0), as co2-concentration.csv in the npm
//     package vega-datasets (BSD-3-Clause).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { savePlot } from '@mercer/cli/plot';
import { cg, lazyI, lazyJ, pivotedCholesky, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

const require = createRequire(import.meta.url);
const lines = readFileSync(require.resolve('vega-datasets/data/co2-concentration.csv'), 'utf8');
const months = lines
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [date = '', value] = line.split(',');
    const [year, month = 0] = date.split('-').map(Number);
    return { time: Number(year) + (month - 0.5) / 12, value: Number(value) };
  });
const N = months.length;
const average = months.reduce((sum, { value }) => sum + value, 0) / N;
const x = await tensor(
  Float64Array.from(months, ({ time }) => time),
  { shape: [N, 1] },
);
const { device } = x;
const y = await tensor(
  Float64Array.from(months, ({ value }) => value - average),
  { device },
);

/** Squares of the four spreads and of the noise, in ppm^2. */
const variances = { rise: 66 ** 2, season: 2.4 ** 2, medium: 0.66 ** 2, weeks: 0.18 ** 2 };
const noise = 0.19 ** 2;
/** How months resemble each other; times are in years. */
function covariance(from = x, to = x) {
  const apart = lazyI(from).sub(lazyJ(to));
  const squares = apart.square();
  const rise = squares.div(-2 * 67 ** 2).exp();
  const season = squares
    .div(-2 * 90 ** 2)
    .sub(
      apart
        .mul(Math.PI)
        .sin()
        .square()
        .mul(2 / 1.3 ** 2),
    )
    .exp();
  const medium = squares
    .div(2 * 0.78 * 1.2 ** 2)
    .add(1)
    .pow(-0.78);
  const weeks = squares.div(-2 * (1.6 / 12) ** 2).exp();
  return rise
    .mul(variances.rise)
    .add(season.mul(variances.season))
    .add(medium.mul(variances.medium))
    .add(weeks.mul(variances.weeks));
}

const kernel = covariance().asOperator();
const options = {
  preconditioner: await pivotedCholesky(kernel, { rank: 100, shift: noise }),
  rtol: 1e-10,
};
const weights = await cg(kernel.shift(noise), y, options);
assert.ok(weights.converged);

/** Means, and deviations of what would be measured then. */
async function predict(times = Float64Array.of(0)) {
  const asked = await tensor(times, { shape: [times.length, 1], device });
  const means = await covariance(asked, x).matmul(weights.x).add(average).toTypedArray();
  const between = await covariance(x, asked).asOperator().dense(); // (N, months asked)
  const solved = await cg(kernel.shift(noise), between, options);
  assert.ok(solved.converged);
  const explained = await between.mul(solved.x).sum(0).toTypedArray();
  const total = Object.values(variances).reduce((sum, one) => sum + one, noise);
  return {
    means: [...means],
    deviations: Array.from(explained, (one) => Math.sqrt(total - one)),
    iterations: solved.iterations,
  };
}

// By numpy 2.4: np.linalg.solve(K + noise I, [y k]), means and deviations at five times.
const byNumpy = [
  [1964 + 2.5 / 12, 320.718322623639, 0.267817090766],
  [2015 + 4.5 / 12, 403.970422745758, 0.219034837942],
  [2020 + 0.5 / 12, 413.215500238277, 0.219910396676],
  [2030 + 0.5 / 12, 436.566609994741, 1.671254051154],
  [2040 + 0.5 / 12, 461.39920069893, 3.498879764181],
];
const known = await predict(Float64Array.from(byNumpy, ([time = 0]) => time));
for (const [at, [time = 0, mean = 0, deviation = 0]] of byNumpy.entries()) {
  assert.ok(Math.abs((known.means[at] ?? NaN) - mean) < 1e-5, `the mean of ${time}`);
  assert.ok(Math.abs((known.deviations[at] ?? NaN) - deviation) < 1e-5, `the deviation of ${time}`);
}

const perYear = whole ? 52 : 12;
const times = Float64Array.from({ length: 35 * perYear + 1 }, (_, k) => 2005 + k / perYear);
const { means, deviations, iterations } = await timed(
  `${times.length} times from ${N} months`,
  () => predict(times),
);
const last = times.length - 1;
console.log(
  `${iterations} steps; 2040: ${means[last]?.toFixed(1)} ppm, within ${(2 * (deviations[last] ?? 0)).toFixed(1)} in 19 of 20 cases`,
);

// Blue: the means and two deviations to each side. Dots: what was measured.
const spread = (k = 0, side = 1) => (means[k] ?? 0) + side * 2 * (deviations[k] ?? 0);
await savePlot('kriging-carbon-dioxide.svg', {
  x: { label: 'year', tickFormat: 'd', domain: [2005, 2040] },
  y: { label: 'carbon dioxide, ppm', domain: [370, 475] },
  marks: [
    Plot.areaY(times, {
      x: Plot.identity,
      y1: (_, k) => spread(k, -1),
      y2: (_, k) => spread(k),
      fill: '#c6dbef',
    }),
    Plot.lineY(means, { x: times, stroke: '#1f77b4' }),
    Plot.dot(months, {
      filter: ({ time }) => time > 2005,
      x: 'time',
      y: 'value',
      r: 1.5,
      fill: '#333',
    }),
  ],
});
console.log('wrote kriging-carbon-dioxide.svg');
