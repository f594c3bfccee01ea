// 34. Kernels that decay need not be summed over all pairs. `truncatedRanges` sorts the points into clusters on the device, and keeps the
//     pairs of clusters that are near enough for an error that you state. For a wide kernel no pair is far, but then it hardly
//     changes within a cell of a grid, so that one point can stand for all of the cell. A kernel of several scales takes the one for its narrow
//     parts and the other for its wide ones.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { clusterCentroids, gridCluster, lazyI, lazyJ, random, truncatedRanges } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

// Masses in a cube.
const N = whole ? 1_000_000 : 20_000;
const x = await random.uniform([N, 3], { key: random.key(34) });
const { device } = x;
const masses = await random.uniform([N, 1], { key: random.key(35), device });
const total = Number(await masses.sum().item());

const gaussian = (from = x, to = x, width = 1) =>
  lazyI(from)
    .sqdist(lazyJ(to))
    .div(-2 * width ** 2)
    .exp();
/** The shorter of two times, without the one for compiling. */
async function seconds(work = async () => x) {
  const times = [];
  for (let run = 0; run < 3; run++) {
    const start = performance.now();
    await (await work()).slice([0, 1]).toTypedArray();
    times.push((performance.now() - start) / 1000);
  }
  return Math.min(...times.slice(1));
}

// What a sum over all pairs gives, at some rows and in float64.
const SOME = 200;
const few = await x.slice([0, SOME]).cast('float64');
const [wide, wideMasses] = [await x.cast('float64'), await masses.cast('float64')];
async function exact(width = 1) {
  const kernel = lazyI(few)
    .sqdist(lazyJ(wide))
    .div(-2 * width ** 2)
    .exp();
  return await (await kernel.matmul(wideMasses)).toTypedArray();
}

// Narrower and narrower Gaussians, summed with an error of a millionth of all masses at most.
const ERROR = 1e-6;
const all = await seconds(() => gaussian(x, x, 0.05).mul(lazyJ(masses)).sum('j'));
async function measure(width = 1) {
  const near = await truncatedRanges(x, x, { kernel: 'gaussian', bandwidth: width, error: ERROR });
  const sorted = await near.sortJ(masses);
  const { x: rows, ranges, pairs, cutoff } = near;
  const sum = () => gaussian(rows, rows, width).mul(lazyJ(sorted)).sum('j', { ranges });
  const time = await seconds(async () => await sum());
  const sums = await (await near.restore(await sum())).slice([0, SOME]).toTypedArray();
  const wanted = await exact(width);
  const worst = wanted.reduce(
    (most, one, i) => Math.max(most, Math.abs(one - (sums[i] ?? NaN)) - 1e-5 * one),
    0,
  );
  assert.ok(worst <= ERROR * total);
  const within = await lazyI(few)
    .sqdist(lazyJ(wide))
    .le(cutoff ** 2)
    .sum('j')
    .mean();
  near.dispose();
  return { width, kept: pairs / N ** 2, within: Number(await within.item()) / N, time: time / all };
}
const curve = [await measure(0.2)];
for (const width of [0.1, 0.05, 0.03, 0.02, 0.01]) curve.push(await measure(width));
for (const { width, kept, within, time } of curve) {
  const percent = (share = 0) => `${(100 * share).toFixed(2)}%`;
  console.log(
    `width ${width}: ${percent(kept)} of the pairs, ${percent(within)} are near, ${percent(time)} of the time`,
  );
}
const narrow = curve.at(-1);
assert.ok(narrow && narrow.kept < 0.05);

// A kernel of three widths. The masses in a cell count as one, in their centre: for the widest kernel in cells of a quarter of its width.
const widths = [0.02, 0.05, 0.4];
const [first = 0, second = 0, widest = 0] = widths;
const labels = await gridCluster(x, widest / 4);
const weights = masses.reshape([N]);
const { centroids, weights: inCell } = await clusterCentroids(x, labels, {
  weights: await weights,
});
const near = await truncatedRanges(x, x, { kernel: 'gaussian', bandwidth: second, error: ERROR });
const sums = await timed(
  `three widths of ${N} points, with ${centroids.shape[0]} cells`,
  async () => {
    const sorted = lazyJ(await near.sortJ(masses));
    const both = gaussian(near.x, near.x, first).add(gaussian(near.x, near.x, second));
    const fine = await both.mul(sorted).sum('j', { ranges: near.ranges });
    const coarse = gaussian(x, centroids, widest).matmul(
      await inCell.reshape([centroids.shape[0] ?? 0, 1]),
    );
    return await (
      await near.restore(fine)
    )
      .add(await coarse)
      .slice([0, SOME])
      .toTypedArray();
  },
);
await timed('the same over all pairs', async () => {
  const every = gaussian(x, x, first)
    .add(gaussian(x, x, second))
    .add(gaussian(x, x, widest));
  return await (await every.mul(lazyJ(masses)).sum('j')).slice([0, 1]).toTypedArray();
});
const parts = await Promise.all(widths.map((width) => exact(width)));
const off = Array.from(sums, (one, i) => {
  const wanted = parts.reduce((sum, part) => sum + (part[i] ?? NaN), 0);
  return Math.abs(one / wanted - 1);
});
console.log(`off by at most ${(100 * Math.max(...off)).toFixed(3)}%`);
assert.ok(Math.max(...off) < 0.01);

// Over the width: the pairs that are near, those that are kept, and the time, as shares of all.
const shares = curve.flatMap(({ width, within, kept, time }) => [
  { width, of: 'pairs that are near', share: within },
  { width, of: 'pairs that are kept', share: kept },
  { width, of: 'time', share: time },
]);
await savePlot('truncated-kernels.svg', {
  x: { type: 'log', label: 'width', ticks: 4 },
  y: { type: 'log', label: 'share' },
  color: {
    legend: true,
    label: null,
    domain: ['pairs that are near', 'pairs that are kept', 'time'],
  },
  marks: [Plot.line(shares, { x: 'width', y: 'share', stroke: 'of', marker: true })],
});
console.log('wrote truncated-kernels.svg');
