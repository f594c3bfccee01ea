// 32. Do two samples come from the same distribution? Their maximum mean discrepancy says how far the means of their Gaussian kernels
//     lie apart (Gretton et al. 2012, the unbiased estimate). What it would be by chance is told by splitting all points again at
//     random: for a split s of zeros and ones it needs only K s and the sum of K. So all splits together are the columns of one
//     product with a kernel matrix that is never stored. Where the samples differ is shown by the witness, the difference of the means.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { concat, lazyI, lazyJ, random, sort, tensor, zeros } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { scaledIrises } from './lib/iris.mjs';
import { timed, whole } from './lib/whole.mjs';

const SPLITS = 500;
const none = await zeros([0, 2], { dtype: 'float64' });
const { device } = none;
const gaussian = (x = none, y = none, width = 1) =>
  lazyI(x)
    .sqdist(lazyJ(y))
    .div(-2 * width ** 2)
    .exp();

/** The discrepancies of two samples and of random splits of all their points, and the share of splits that reach that of the samples. */
async function compare(x = none, y = none, width = 1) {
  const [m = 0, n = 0] = [x.shape[0], y.shape[0]];
  const points = await concat([x, y], 0);
  // In a column of random numbers, those up to the one of rank m.
  const numbers = await random.uniform([m + n, SPLITS], {
    key: random.key(32),
    dtype: 'float64',
    device,
  });
  const limits = (await sort(numbers, 0)).slice([m - 1, m]);
  const given = await tensor(
    Float64Array.from({ length: m + n }, (_, i) => (i < m ? 1 : 0)),
    { shape: [m + n, 1], device },
  );
  const splits = await concat([given, await numbers.le(limits).cast('float64')], 1);

  const product = await gaussian(points, points, width).matmul(splits); // (m + n, 1 + SPLITS)
  const all = await gaussian(points, points, width).sum('j'); // (m + n, 1)
  const total = Number(await all.sum().item());
  const within = await splits.mul(product).sum(0).toTypedArray(); // s^T K s
  const from = await splits.mul(all).sum(0).toTypedArray(); // s^T K 1
  const values = within.map((xx, k) => {
    const xy = (from[k] ?? 0) - xx;
    const yy = total - xx - 2 * xy;
    // k(x, x) = 1 is left out
    return (xx - m) / (m * (m - 1)) + (yy - n) / (n * (n - 1)) - (2 * xy) / (m * n);
  });
  const [value = NaN, ...chance] = values;
  const reached = chance.filter((one) => one >= value).length;
  return { value, chance, p: (1 + reached) / (1 + SPLITS) };
}
/** What 95 of 100 stay below. */
const quantile = (values = [0]) =>
  values.toSorted((a, b) => a - b)[Math.floor(0.95 * values.length)] ?? NaN;

// Two species of irises; the width is the median of all distances. By numpy 2.4, with 5000 splits: 0.35495471, and 0.0212 by chance.
const [, versicolor, virginica] = await Promise.all(
  scaledIrises().map((flowers) => tensor(flowers, { shape: [50, 4], device })),
);
assert.ok(versicolor && virginica);
const irises = await concat([versicolor, virginica], 0);
const distances = (
  await (await lazyI(irises).sqdist(lazyJ(irises)).sqrt().toDense()).toTypedArray()
)
  .filter((_, at) => at % 100 > Math.floor(at / 100))
  .sort();
const median = ((distances[2474] ?? 0) + (distances[2475] ?? 0)) / 2;
assert.ok(Math.abs(median - 1.528301) < 1e-6);
const species = await compare(versicolor, virginica, median);
console.log(
  `irises: ${species.value.toFixed(8)}, by chance at most ${quantile(species.chance).toFixed(4)}, p = ${species.p.toFixed(3)}`,
);
assert.ok(Math.abs(species.value - 0.35495471) < 1e-8);
assert.ok(Math.abs(quantile(species.chance) - 0.0212) < 0.004);
assert.ok(species.p < 0.003);

// In the plane: one cloud, another like it, and one of four lumps with the same mean and the same covariance.
let state = 32;
const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
const N = whole ? 20_000 : 300;
const lump = () => (uniform() < 0.5 ? 0.8 : -0.8) + 0.6 * normal();
const [cloud, like, lumps] = [normal, normal, lump].map((number) =>
  Float64Array.from({ length: 2 * N }, number),
);
const plane = async (numbers = cloud) =>
  await tensor(numbers ?? new Float64Array(2 * N), { shape: [N, 2], device });
const [a, b, c] = [await plane(cloud), await plane(like), await plane(lumps)];
const WIDTH = 0.5;
const [alike, different] = await timed(
  `two tests of ${N} points with ${SPLITS} splits`,
  async () => [await compare(a, b, WIDTH), await compare(a, c, WIDTH)],
);
console.log(`a cloud like it: ${alike.value.toFixed(5)}, p = ${alike.p.toFixed(3)}`);
console.log(`four lumps: ${different.value.toFixed(5)}, p = ${different.p.toFixed(3)}`);
// By numpy 2.4, for the 300 points.
assert.ok(whole || Math.abs(alike.value + 0.00013929) < 1e-8);
assert.ok(whole || Math.abs(different.value - 0.00837694) < 1e-8);
assert.ok(alike.p > 0.05 && different.p < 0.01);

// Grey: what splits by chance give. Blue: the cloud like it; red: the four lumps.
await savePlot('two-sample-test.svg', {
  x: { label: 'squared discrepancy' },
  y: { label: 'splits' },
  marks: [
    Plot.rectY(different.chance, {
      ...Plot.binX({ y: 'count' }, { x: Plot.identity }),
      fill: '#aaa',
    }),
    Plot.ruleX([alike.value], { stroke: '#1f77b4', strokeWidth: 3 }),
    Plot.ruleX([different.value], { stroke: '#d62728', strokeWidth: 3 }),
  ],
});
console.log('wrote two-sample-test.svg');

// The witness: red where there are more points of the cloud than of the lumps, blue where there are less.
const side = 100;
const centre = (cell = 0) => ((cell + 0.5) / side) * 5.6 - 2.8;
const grid = Float64Array.from({ length: 2 * side ** 2 }, (_, at) => {
  const cell = Math.floor(at / 2);
  return centre(at % 2 === 0 ? cell % side : Math.floor(cell / side));
});
const everywhere = await tensor(grid, { shape: [side ** 2, 2], device });
const means = [a, c].map((sample) => gaussian(everywhere, sample, WIDTH).mean('j'));
const [more, less] = await Promise.all(means);
assert.ok(more && less);
const witness = await more.sub(less).toTypedArray();
const shown = Array.from({ length: Math.min(N, 600) }, (_, i) => i);
const place = (of = cloud) => ({ x: (i = 0) => of?.[2 * i], y: (i = 0) => of?.[2 * i + 1], r: 2 });
await savePlot('two-sample-witness.svg', {
  aspectRatio: 1,
  x: { domain: [-2.8, 2.8] },
  y: { domain: [-2.8, 2.8] },
  clip: true,
  color: { type: 'diverging', scheme: 'RdBu', reverse: true },
  marks: [
    // the edges of the shades are contour lines
    Plot.contour(witness, {
      width: side,
      height: side,
      x1: -2.8,
      x2: 2.8,
      y1: -2.8,
      y2: 2.8,
      thresholds: 12,
      fill: Plot.identity,
    }),
    Plot.dot(shown, { ...place(cloud), fill: '#a50f15' }),
    Plot.dot(shown, { ...place(lumps), fill: '#08306b' }),
  ],
});
console.log('wrote two-sample-witness.svg');
