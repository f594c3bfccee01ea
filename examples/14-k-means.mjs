// 14. k-means by Lloyd's iterations. Each step is two reductions of matrices that are never stored:
//     - every point takes the label of its nearest centroid: minArgMin over the centroids j;
//     - every centroid moves to the mean of its points. "Has label j" is a mask, 1 or 0, of labels i and numbers j, so the sums of
//       the points and their counts are one sum of (point, 1) * mask over the points i. Only these few numbers come to the host,
//       where they are divided; a centroid without points stays where it is.
import assert from 'node:assert/strict';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import { COLOURS, Picture } from './lib/picture.mjs';

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
const ones = lazyI(await tensor(new Float32Array(N).fill(1), { shape: [N, 1], device }));
const numbers = lazyJ(
  await tensor(
    Float32Array.from({ length: K }, (_, j) => j),
    { shape: [K, 1], device },
  ),
);
const x = lazyI(data);

// The first centroid is a point; each further one the point that is farthest from those before.
let centroids = new Float32Array(points.subarray(0, 2));
while (centroids.length < 2 * K) {
  const y = lazyJ(await tensor(centroids, { shape: [centroids.length / 2, 2], device }));
  const nearest = await (await x.sqdist(y).min('j')).toTypedArray();
  const farthest = nearest.indexOf(nearest.reduce((most, value) => Math.max(most, value), 0));
  centroids = Float32Array.of(
    ...centroids,
    points[2 * farthest] ?? 0,
    points[2 * farthest + 1] ?? 0,
  );
}

let labels = new Int32Array(N).fill(-1);
let energy = Infinity;
for (let moved = N; moved > 0;) {
  const y = lazyJ(await tensor(centroids, { shape: [K, 2], device }));
  const { values, indices } = await x.sqdist(y).minArgMin('j');
  const next = await indices.toTypedArray();
  moved = next.filter((label, i) => label !== labels[i]).length;
  labels = Int32Array.from(next);
  const now = (await values.toTypedArray()).reduce((sum, value) => sum + value, 0) / N;
  console.log(`mean squared distance ${now.toFixed(5)}, ${moved} labels changed`);
  assert.ok(now <= energy * (1 + 1e-6)); // no step raises it
  energy = now;

  const mask = lazyI(await indices.cast('float32')).eq(numbers);
  const sums = await (await x.concat(ones).mul(mask).sum('i')).toTypedArray(); // (K, 3)
  centroids = centroids.map((old, at) => {
    const row = 3 * Math.floor(at / 2);
    const size = sums[row + 2] ?? 0;
    return size === 0 ? old : (sums[row + (at % 2)] ?? 0) / size;
  });
}

const picture = new Picture({ left: -3.5, right: 3.5, bottom: -3.5, top: 3.5 });
picture.dots(points, (i) => COLOURS[labels[i] ?? 0] ?? 'black', 1.5);
picture.dots(centroids, () => 'black', 5);
picture.save('k-means.svg');

// At the end every centroid is the mean of its points, and here each cloud is one cluster.
for (let j = 0; j < K; j++) {
  const own = [...labels.keys()].filter((i) => labels[i] === j);
  for (const axis of [0, 1]) {
    const mean = own.reduce((sum, i) => sum + (points[2 * i + axis] ?? 0), 0) / own.length;
    assert.ok(Math.abs(mean - (centroids[2 * j + axis] ?? NaN)) < 1e-5);
  }
  const inCloud = own.filter((i) => i % K === (own[0] ?? 0) % K).length;
  assert.ok(inCloud > 0.9 * (N / K));
}
