// 39. The natural gradient, by which a step does not depend on the units of the parameters: mean and deviation of a normal distribution
//     are fitted to numbers, twice, the second time to the same numbers in other units. Steps along the gradient take a quite different
//     way then; those of `naturalGradient` with the true Fisher matrix, which is estimated from numbers drawn from the model, do not.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import {
  naturalGradient,
  perSampleGradients,
  random,
  sgd,
  tensor,
  valueAndGrad,
} from '@mercer/core';
import * as Plot from '@observablehq/plot';

const [COUNT, DRAWN, STEPS, UNITS] = [200, 400, 20, 10];

const numbers = await random.normal([COUNT], { key: random.key(39), mean: 2, deviation: 0.5 });
const { device } = numbers;

/** Both parameters to begin with. */
const initial = async (units = 1) => ({
  mean: await tensor([0], { device, dtype: 'float32' }),
  logDeviation: await tensor([Math.log(2 * units)], { device, dtype: 'float32' }),
});
const start = await initial();

/** The mean of minus the logarithm of the density, without a constant. */
const loss = ({ mean, logDeviation } = start, x = numbers) =>
  x.sub(mean).div(logDeviation.exp()).square().mul(0.5).add(logDeviation).mean();
const descend = valueAndGrad(loss);

/** Where a run goes, in the first units: mean and deviation by step. */
async function run(optimiser = sgd(), units = 1) {
  const x = await numbers.mul(units);
  const params = await initial(units);
  const state = await optimiser.init(params);
  const path = [];
  for (let step = 0; step < STEPS; step++) {
    const [mean, log] = [await params.mean.toNested(), await params.logDeviation.toNested()];
    path.push([Number(mean) / units, Math.exp(Number(log)) / units]);
    const { grad } = await descend(params, x);
    const key = random.foldIn(random.key(1), step);
    const drawn = await random
      .normal([DRAWN], { key, device })
      .mul(params.logDeviation.exp())
      .add(params.mean);
    // of each number that the model draws, as if it were one of the data
    const modelPerSample = await perSampleGradients(loss, params, drawn, undefined);
    await optimiser.step(params, grad, state, { modelPerSample });
  }
  return path;
}

const natural = naturalGradient({ lr: 0.5, damping: 1e-6, fisher: 'true' });
const plain = sgd({ lr: 0.5 });
const ways = {
  natural: await run(natural),
  'natural, other units': await run(natural, UNITS),
  gradient: await run(plain),
  'gradient, other units': await run(plain, UNITS),
};

// What the likelihood is largest for: the numbers' own mean and deviation.
const best = [Number(await numbers.mean().item()), Number(await numbers.std().item())];
const distance = (place = best) => Math.hypot(...place.map((one, k) => one - (best[k] ?? NaN)));
for (const [name, path] of Object.entries(ways)) {
  console.log(
    `${name}: ${distance(path.at(-1)).toFixed(4)} away from the best after ${STEPS - 1} steps`,
  );
}
assert.ok(distance(ways.natural.at(-1)) < 1e-2);
// The same way in both units, and not so along the gradient.
const apart = (one = [[0]], other = [[0]]) =>
  Math.max(
    ...one.map(([x = 0, y = 0], k) =>
      Math.hypot(x - (other[k]?.[0] ?? NaN), y - (other[k]?.[1] ?? NaN)),
    ),
  );
assert.ok(apart(ways.natural, ways['natural, other units']) < 1e-3);
assert.ok(apart(ways.gradient, ways['gradient, other units']) > 0.3);

// Dark where the loss is small, and the ways to the smallest, which is the white dot.
const height = (mean = 0, deviation = 1) => {
  const squares = (mean - (best[0] ?? 0)) ** 2 + (best[1] ?? 0) ** 2;
  return squares / deviation ** 2 / 2 + Math.log(deviation);
};
const lowest = height(...best);
await savePlot('natural-gradient.svg', {
  x: { label: 'mean' },
  y: { label: 'deviation' },
  color: { type: 'categorical', label: null, domain: Object.keys(ways), legend: true },
  marks: [
    Plot.raster({
      x1: -0.5,
      x2: 3.5,
      y1: 0.1,
      y2: 3,
      fill: (mean = 0, deviation = 1) => {
        const light = Math.round(255 - 180 * Math.exp(lowest - height(mean, deviation)));
        return `rgb(${light},${light},${light})`;
      },
    }),
    ...Object.entries(ways).map(([name, way], k) =>
      Plot.line(way, {
        stroke: () => name,
        z: null,
        strokeWidth: k % 2 === 0 ? 4 : 2,
      }),
    ),
    Plot.dot([best], { r: 5, fill: 'white' }),
  ],
});
console.log('wrote natural-gradient.svg');
