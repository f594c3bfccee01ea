// 33. Spectral coordinates and clusters. A random walk hops between points, mostly to near ones: it soon knows the shape on which it is, and
//     hardly ever leaves it. So the slowest modes of the walk tell the shapes apart, and the next ones are coordinates along
//     them. Modes are eigenvectors of the kernel matrix scaled by the degrees of its points (Ng, Jordan and Weiss 2002); `eigsh`
//     finds some from products with it, and it is never stored. k-means of the points cuts the shapes; of the modes it finds them.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { eigsh, kMeans, lazyI, lazyJ, random, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

// A ring around two crescents that reach into each other: half of the points, and a quarter for each crescent.
let state = 33;
const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
const N = whole ? 40_000 : 1200;
const shapeOf = (i = 0) => Math.max(0, (i % 4) - 1);
const points = new Float64Array(2 * N);
for (let i = 0; i < N; i++) {
  const angle = (shapeOf(i) === 0 ? 2 : 1) * Math.PI * uniform();
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const sign = shapeOf(i) === 1 ? 1 : -1;
  const [x, y] =
    shapeOf(i) === 0 ? [cosine, sine] : [sign * (0.4 * cosine - 0.2), sign * (0.4 * sine - 0.08)];
  points.set([x + 0.03 * normal(), y + 0.03 * normal()], 2 * i);
}
const cloud = await tensor(points, { shape: [N, 2] });

const WIDTH = 0.05;
const kernel = lazyI(cloud)
  .sqdist(lazyJ(cloud))
  .div(-2 * WIDTH ** 2)
  .exp();
const scale = await kernel.sum('j').rsqrt(); // (N, 1)
const walk = kernel.mul(lazyI(scale)).mul(lazyJ(scale)).asOperator();
const { values, vectors, converged, iterations } = await timed(`six modes of ${N} points`, () =>
  eigsh(walk, { k: 6, key: random.key(33) }),
);
assert.ok(converged);
const found = await values.toTypedArray();
console.log(
  `${iterations} products; eigenvalues ${[...found].map((one) => one.toFixed(6)).join(', ')}`,
);
// By scipy 1.17, eigsh of the stored matrix.
const byScipy = [1, 0.99999999985, 0.99994717409, 0.999205073464, 0.999038410024, 0.997076153951];
byScipy.forEach((wanted, k) => assert.ok(whole || Math.abs((found[k] ?? NaN) - wanted) < 1e-8));

// The three slowest modes, each point's scaled to length 1, are three corners; k-means of them finds the shapes.
const slow = vectors.slice(null, [0, 3]);
const corners = await slow.div(slow.square().sum(1, { keepDims: true }).sqrt());
const clusters = await (await kMeans(corners, 3, { key: random.key(1) })).labels.toTypedArray();
const cut = await (await kMeans(cloud, 3, { key: random.key(1) })).labels.toTypedArray();

/** The share of the points that are in the cluster that most of their shape are in, with a cluster for each shape. */
function right(labels = clusters) {
  const counts = [0, 1, 2].map((shape) =>
    [0, 1, 2].map(
      (label) => labels.filter((one, i) => one === label && shapeOf(i) === shape).length,
    ),
  );
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];
  return (
    Math.max(
      ...orders.map((order) =>
        order.reduce((sum, label, shape) => sum + (counts[shape]?.[label] ?? 0), 0),
      ),
    ) / N
  );
}
console.log(
  `k-means of the modes: ${(100 * right(clusters)).toFixed(1)}% right; of the points: ${(100 * right(cut)).toFixed(1)}%`,
);
assert.ok(right(clusters) > 0.999 && right(cut) < 0.8);

// Above: clusters of the points, and of the modes. Below: two modes along the shapes, from blue over green to yellow.
const modes = await vectors.div(scale).toTypedArray();
const shown = Array.from({ length: 1200 }, (_, k) => Math.floor((k * N) / 1200));
const place = { x: (i = 0) => points[2 * i], y: (i = 0) => points[2 * i + 1], r: 3 };
const byCluster =
  (labels = clusters) =>
  (i = 0) =>
    ['#1f77b4', '#ff7f0e', '#2ca02c'][labels[i] ?? 0];
const byMode = (mode = 0) => {
  const one = (i = 0) => modes[6 * i + mode] ?? 0;
  const largest = Math.max(...shown.map((i) => Math.abs(one(i))));
  return (i = 0) => one(i) / largest;
};
const panels = [byCluster(cut), byCluster(clusters), byMode(3), byMode(5)];
await savePlot('spectral-clustering.svg', {
  axis: null,
  aspectRatio: 1,
  color: { scheme: 'viridis' },
  marks: panels.map((fill, k) =>
    Plot.dot(shown, { ...place, fx: () => k % 2, fy: () => Math.floor(k / 2), fill }),
  ),
});
console.log('wrote spectral-clustering.svg');
