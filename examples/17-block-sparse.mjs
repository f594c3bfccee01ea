// 17. Block-sparse convolution: Gaussians of 5000 points y, summed at 5000 points x of an ellipse. The points are sorted by the cells
//     of a grid, so that each cell is a range of rows; cells that lie more than 4 s apart do not meet, and their blocks of the
//     matrix are skipped. What is left out is known: every term is below exp(-8).
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, rangesFromMatrix, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';

let state = 17;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const [count, width, cell] = [5000, 0.05, 0.05];

/** Points sorted by their cells, where the rows of each cell start and end, and the middles of the cells. */
function clusters(points = [{ x: 0, y: 0 }]) {
  const sorted = points
    .map(({ x, y }) => ({ x, y, column: Math.floor(x / cell), row: Math.floor(y / cell) }))
    .sort((a, b) => a.column - b.column || a.row - b.row);
  const starts = sorted.flatMap(({ column, row }, at) => {
    const before = sorted[at - 1];
    return before?.column === column && before.row === row ? [] : [at];
  });
  return {
    starts,
    ends: [...starts.slice(1), sorted.length],
    middles: starts.flatMap((at) =>
      sorted
        .slice(at, at + 1)
        .map(({ column, row }) => [(column + 0.5) * cell, (row + 0.5) * cell]),
    ),
    points: sorted,
    flat: Float32Array.from(sorted.flatMap(({ x, y }) => [x, y])),
  };
}

const ellipse = clusters(
  Array.from({ length: count }, () => {
    const t = 2 * Math.PI * random();
    return { x: 0.9 * Math.cos(t) + 0.01 * normal(), y: 0.5 * Math.sin(t) + 0.01 * normal() };
  }),
);
const cloud = clusters(
  Array.from({ length: count }, () => ({ x: 0.4 * normal(), y: 0.4 * normal() })),
);

// Points of two cells are nearer to each other than the middles by one diagonal at most.
const reach = 4 * width + cell * Math.SQRT2;
const keep = ellipse.middles.map(([x = 0, y = 0]) =>
  cloud.middles.map(([u = 0, v = 0]) => Math.hypot(x - u, y - v) < reach),
);
const ranges = rangesFromMatrix(
  ellipse.starts.map((start, a) => [start, ellipse.ends[a] ?? 0]),
  cloud.starts.map((start, b) => [start, cloud.ends[b] ?? 0]),
  keep,
);

let pairs = 0;
const size = (of = cloud, at = 0) => (of.ends[at] ?? 0) - (of.starts[at] ?? 0);
keep.forEach((row, a) =>
  row.forEach((meets, b) => (pairs += meets ? size(ellipse, a) * size(cloud, b) : 0)),
);
console.log(
  `${keep.length} x ${cloud.starts.length} cells, ${((100 * pairs) / count ** 2).toFixed(1)}% of the pairs are computed`,
);

const x = lazyI(await tensor(ellipse.flat, { shape: [count, 2] }));
const y = lazyJ(await tensor(cloud.flat, { shape: [count, 2] }));
const gaussians = x
  .sqdist(y)
  .div(-2 * width ** 2)
  .exp();
const dense = await (await gaussians.sum('j')).toTypedArray();
const sparse = await (await gaussians.sum('j', { ranges })).toTypedArray();

// One cell of x in red, the points that it meets in blue, the others grey; the ellipse by its values.
const shown = Math.floor(keep.length / 5);
const isIn = (of = cloud, at = 0, point = 0) =>
  point >= (of.starts[at] ?? 0) && point < (of.ends[at] ?? 0);
const isMet = (j = 0) => keep[shown]?.some((meets, b) => meets && isIn(cloud, b, j));
const largest = Math.max(...dense);
await savePlot('block-sparse.svg', {
  aspectRatio: 1,
  color: { scheme: 'YlOrBr', domain: [-largest / 2, largest] },
  marks: [
    Plot.dot(cloud.points, {
      x: 'x',
      y: 'y',
      r: 1.2,
      fill: (_, j) => (isMet(j) ? '#1f77b4' : '#cccccc'),
    }),
    Plot.dot(ellipse.points, { x: 'x', y: 'y', r: 2.5, fill: sparse }),
    Plot.dot(
      ellipse.points.filter((_, i) => isIn(ellipse, shown, i)),
      { x: 'x', y: 'y', r: 2.5, fill: '#d62728' },
    ),
  ],
});
console.log('wrote block-sparse.svg');

const differences = dense.map((value, i) => Math.abs(value - (sparse[i] ?? NaN)));
const total = (values = dense) => values.reduce((sum, value) => sum + value, 0);
console.log(`the sums differ by ${((100 * total(differences)) / total()).toFixed(4)}%`);
assert.ok(pairs < 0.2 * count ** 2);
assert.ok(total(differences) < 0.002 * total());
const rounding = 1e-5 * largest;
differences.forEach((difference) => assert.ok(difference <= count * Math.exp(-8) + rounding));
