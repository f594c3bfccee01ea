// 14. k-means by Lloyd's iterations; points and centroids stay on the device:
//     - every point takes the label of its nearest centroid: minArgMin over the centroids j of distances that are never stored;
//     - every centroid moves to the mean of its points: scatterAdd sums the points by label, countRows counts them, and map divides;
//       a centroid without points stays where it is.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { countRows, formula, lazyI, lazyJ, map, scatterAdd, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';

let state = 3;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const [N, K] = [4000, 8];
const points = new Float32Array(2 * N);
for (let i = 0; i < N; i++) {
  const angle = (2 * Math.PI * (i % K)) / K;
  points.set([2 * Math.cos(angle) + 0.3 * normal(), 2 * Math.sin(angle) + 0.3 * normal()], 2 * i);
}
const data = await tensor(points, { shape: [N, 2] });
const { device } = data;
const x = lazyI(data);

// The first centroid is a point; each further one the point that is farthest from those before.
let chosen = new Float32Array(points.subarray(0, 2));
while (chosen.length < 2 * K) {
  const y = lazyJ(await tensor(chosen, { shape: [chosen.length / 2, 2], device }));
  const nearest = await (await x.sqdist(y).min('j')).toTypedArray();
  const farthest = nearest.indexOf(nearest.reduce((most, value) => Math.max(most, value), 0));
  chosen = Float32Array.of(...chosen, points[2 * farthest] ?? 0, points[2 * farthest + 1] ?? 0);
}

const { div, gt, select, variable } = formula;
const [sum, count, old] = [variable('sum'), variable('count'), variable('old')];
const mean = select(gt(count, 0), div(sum, count), old);

let centroids = await tensor(chosen, { shape: [K, 2], device });
let labels = new Int32Array(N).fill(-1);
let energy = Infinity;
for (let moved = N; moved > 0;) {
  const { values, indices } = await x.sqdist(lazyJ(centroids)).minArgMin('j');
  const next = await indices.toTypedArray();
  moved = next.filter((label, i) => label !== labels[i]).length;
  labels = Int32Array.from(next);
  const now = (await values.toTypedArray()).reduce((sum, value) => sum + value, 0) / N;
  console.log(`mean squared distance ${now.toFixed(5)}, ${moved} labels changed`);
  assert.ok(now <= energy * (1 + 1e-6)); // no step raises it
  energy = now;

  const index = indices.reshape([N]);
  const sums = await scatterAdd(data, index, K); // (K, 2)
  const counts = (await countRows(index, K)).reshape([K, 1]);
  centroids = await map(mean, { sum: sums, count: counts, old: centroids });
}
const found = await centroids.toTypedArray();

await savePlot('k-means.svg', {
  aspectRatio: 1,
  color: { type: 'categorical' },
  marks: [
    Plot.dot(labels, {
      x: (_, i) => points[2 * i],
      y: (_, i) => points[2 * i + 1],
      r: 1.5,
      fill: Plot.identity,
    }),
    Plot.dot(
      { length: K },
      { x: (_, j) => found[2 * j], y: (_, j) => found[2 * j + 1], r: 6, fill: 'black' },
    ),
  ],
});
console.log('wrote k-means.svg');

// At the end every centroid is the mean of its points, and here each cloud is one cluster.
for (let j = 0; j < K; j++) {
  const own = [...labels.keys()].filter((i) => labels[i] === j);
  for (const axis of [0, 1]) {
    const average = own.reduce((sum, i) => sum + (points[2 * i + axis] ?? 0), 0) / own.length;
    assert.ok(Math.abs(average - (found[2 * j + axis] ?? NaN)) < 1e-5);
  }
  const inCloud = own.filter((i) => i % K === (own[0] ?? 0) % K).length;
  assert.ok(inCloud > 0.9 * (N / K));
}
