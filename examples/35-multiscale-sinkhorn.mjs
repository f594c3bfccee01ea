// 35. The Sinkhorn divergence of example 28 from coarse to fine, for many points of few dimensions (Feydy 2020, section 3.3.3). While the
//     temperature is high, one point stands for each cell of a grid. Then the potentials are carried over to the points, and only
//     those pairs of cells are kept between which something is moved: where f + g is near the cost. Masks of pairs of cells are formulas,
//     which `fromMatrix` makes into ranges on the device.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import {
  clusterRangesCentroids,
  fromMatrix,
  gridCluster,
  lazyI,
  lazyJ,
  param,
  sortClusters,
  swapAxes,
  tensor,
} from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

// From a disk to a crescent.
let state = 35;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const N = whole ? 100_000 : 3000;
const [disk, crescent] = [new Float64Array(2 * N), new Float64Array(2 * N)];
for (let i = 0; i < N; i++) {
  const angle = 2 * Math.PI * random();
  const radius = 0.5 * Math.sqrt(random());
  disk.set([radius * Math.cos(angle) - 0.9, radius * Math.sin(angle) - 0.3], 2 * i);
  const turn = Math.PI * (1.25 * random() - 0.5);
  const away = 1 + 0.5 * (random() - 0.5) * Math.cos(0.8 * turn - 0.1);
  crescent.set([away * Math.cos(turn), away * Math.sin(turn)], 2 * i);
}
const [CELL, BLUR, SCALING] = whole ? [0.03, 0.01, 0.7] : [0.07, 0.05, 0.7];

/** A cloud in the order of its cells: the points, the ranges of rows that are a cell, and the cells as points; each with the logarithms of weights. */
async function cloudOf(numbers = disk) {
  const given = await tensor(numbers, { shape: [N, 2] });
  const { rows, labels } = await sortClusters(given, await gridCluster(given, CELL));
  const { ranges, centroids, weights } = await clusterRangesCentroids(rows, labels);
  const logs = await weights.div(N).log().reshape([-1, 1]);
  const each = await rows.slice(null, [0, 1]).mul(0).sub(Math.log(N));
  return { fine: { points: rows, logs: each }, cells: ranges, coarse: { points: centroids, logs } };
}
const [x, y] = [await cloudOf(disk), await cloudOf(crescent)];

const cost = (from = x.fine, to = y.fine) => lazyI(from.points).sqdist(lazyJ(to.points)).div(2);
/** For each point of `from`: -temperature log sum weight exp((potential - cost) / temperature) over those of `to`, or those in the ranges. */
async function softMin(
  temperature = 1,
  from = x.fine,
  to = y.fine,
  potential = y.fine.logs,
  options = {},
) {
  const heights = lazyJ(await potential.div(temperature).add(to.logs));
  const exponent = heights.sub(cost(from, to).div(param(temperature)));
  return await exponent.logSumExp('j', options).mul(-temperature);
}

const fine = { x: x.fine, y: y.fine };
const cells = { x: x.coarse, y: y.coarse };
/** Potentials of x against y, of y against x, and of each against itself: zeros, to start with. */
async function start(at = fine) {
  const [atA, atB] = [await at.x.logs.mul(0), await at.y.logs.mul(0)];
  return { f: atA, g: atB, p: atA, q: atB };
}
const none = await start();
/** Options of sums over all pairs. */
const everywhere = { xy: {}, yx: {}, xx: {}, yy: {} };
/** New potentials at some points from those at others. */
async function step(length = 1, to = fine, from = to, now = none, kept = everywhere) {
  return {
    f: await softMin(length ** 2, to.x, from.y, now.g, kept.xy),
    g: await softMin(length ** 2, to.y, from.x, now.f, kept.yx),
    p: await softMin(length ** 2, to.x, from.x, now.p, kept.xx),
    q: await softMin(length ** 2, to.y, from.y, now.q, kept.yy),
  };
}
const between = async (one = none, other = none) => ({
  f: await one.f.add(other.f).div(2),
  g: await one.g.add(other.g).div(2),
  p: await one.p.add(other.p).div(2),
  q: await one.q.add(other.q).div(2),
});

/** Where coarse potentials say that something is moved: f + g is above the cost, but for five temperatures. */
const isMoved = (length = 1, a = x, b = y, f = none.f, g = none.g) =>
  lazyI(f)
    .add(lazyJ(g))
    .gt(cost(a.coarse, b.coarse).sub(5 * length ** 2));
/** Those pairs of cells as ranges, in both directions. */
async function keep(length = 1, { f, g, p, q } = none) {
  const xy = await fromMatrix(x.cells, y.cells, isMoved(length, x, y, f, g));
  const xx = await fromMatrix(x.cells, x.cells, isMoved(length, x, x, p, p));
  const yy = await fromMatrix(y.cells, y.cells, isMoved(length, y, y, q, q));
  return {
    xy: { ranges: xy },
    yx: { ranges: swapAxes(xy) },
    xx: { ranges: xx },
    yy: { ranges: yy },
  };
}

// The lengths whose squares are the temperatures, from the diameter of the box around both clouds.
const corner = await x.fine.points.min(0).minimum(y.fine.points.min(0));
const diameter = Number(
  await x.fine.points.max(0).maximum(y.fine.points.max(0)).sub(corner).square().sum().sqrt().item(),
);
const count = Math.ceil(Math.log(BLUR / diameter) / Math.log(SCALING));
const lengths = [
  diameter,
  ...Array.from({ length: count }, (_, k) => diameter * SCALING ** k),
  BLUR,
];

async function divergence(isMultiscale = true) {
  let points = isMultiscale ? cells : fine;
  let kept = everywhere;
  let coarse = { length: 0, potentials: none };
  let now = await step(diameter, points, points, await start(points));
  for (const length of lengths) {
    now = await between(now, await step(length, points, points, now, kept));
    if (points !== cells || length > CELL) continue;
    // from the cells to the points
    coarse = { length, potentials: now };
    kept = await keep(length, now);
    now = await step(length, fine, points, now);
    points = fine;
  }
  const end = await step(BLUR, points, points, now, kept);
  const value = await end.f.sub(end.p).mean().add(end.g.sub(end.q).mean());
  return { value: Number(await value.item()), coarse };
}
const { value, coarse } = await timed(`two clouds of ${N} points, from coarse to fine`, () =>
  divergence(),
);
const { value: dense } = await timed('the same over all pairs', () => divergence(false));
console.log(`${value.toFixed(7)}, over all pairs ${dense.toFixed(7)}`);
// By a transcription of GeomLoss's algorithm to numpy 2.4, over all pairs of the 3000 points.
assert.ok(whole || Math.abs(dense - 1.181549309) < 1e-8);
// Where the first steps end depends a little on whether they go over cells or points.
assert.ok(Math.abs(value / dense - 1) < 1e-3);

// Some cells of the disk in colours, and in the same colours what they are moved to at most: the cells that they meet.
const { f, g } = coarse.potentials;
const isMet = await isMoved(coarse.length, x, y, f, g).toDense();
const [met, cellsX, cellsY] = [
  await isMet.toTypedArray(),
  await x.cells.toTypedArray(),
  await y.cells.toTypedArray(),
];
const [rowsX, rowsY] = [cellsX.length / 2, cellsY.length / 2];
const size = (cells = cellsX, k = 0) => Number((cells[2 * k + 1] ?? 0n) - (cells[2 * k] ?? 0n));
const pairs = met.reduce(
  (sum, one, at) => sum + one * size(cellsX, Math.floor(at / rowsY)) * size(cellsY, at % rowsY),
  0,
);
console.log(
  `${rowsX} x ${rowsY} cells; ${((100 * pairs) / N ** 2).toFixed(1)}% of the pairs between the clouds are kept`,
);
assert.ok(pairs < 0.2 * N ** 2);

/** Pairs of numbers. */
const pairsOf = (flat = new Float64Array()) =>
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const pointsX = pairsOf(await x.fine.points.toTypedArray());
const pointsY = pairsOf(await y.fine.points.toTypedArray());
const chosen = [0.07, 0.35, 0.6, 0.94].map((share) => Math.floor(share * rowsX));
/** The points of some cells. */
const inCells = (points = pointsX, ranges = cellsX, isWanted = (cell = 0) => cell < 0) =>
  Array.from({ length: ranges.length / 2 }, (_, cell) => cell)
    .filter((cell) => isWanted(cell))
    .flatMap((cell) => points.slice(Number(ranges[2 * cell]), Number(ranges[2 * cell + 1])));
await savePlot('multiscale-sinkhorn.svg', {
  aspectRatio: 1,
  marks: [
    Plot.dot([...pointsX, ...pointsY], { r: 1.8, fill: '#ccc' }),
    ...chosen.flatMap((cell, k) => {
      const fill = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728'][k];
      const own = inCells(pointsX, cellsX, (one = 0) => one === cell);
      const goals = inCells(pointsY, cellsY, (one = 0) => (met[cell * rowsY + one] ?? 0) > 0);
      return [Plot.dot(own, { r: 3, fill }), Plot.dot(goals, { r: 1.8, fill })];
    }),
  ],
});
console.log('wrote multiscale-sinkhorn.svg');
