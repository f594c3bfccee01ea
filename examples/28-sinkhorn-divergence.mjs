// 28. Sinkhorn divergences: what it costs to move one cloud of points onto another, half the squared distance for each point
//     (Feydy et al. 2019). Potentials f and g solve the problem smoothed by a temperature, which falls from the diameter of the clouds to
//     a blur (epsilon scaling): each step is four log-sum-exps over pairs of points, whose matrices are never stored. What the same
//     sums give within each cloud is taken off, so that the divergence of a cloud from itself is 0. The gradient of the last step
//     moves the points to where they belong.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { grad, lazyI, lazyJ, param, tensor, zeros } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { scaledIrises } from './lib/iris.mjs';
import { timed, whole } from './lib/whole.mjs';

/** A cloud of points of D numbers, one after another. */
const cloud = (numbers = new Float64Array(), D = 2) =>
  tensor(numbers, { shape: [numbers.length / D, D] });
const none = await cloud();
const { device } = none;

/**
 * For each point of x, -temperature log mean exp((potential - cost) / temperature) over the points of y, whose potential is (points, 1).
 * The temperature is an argument of the kernel, so all steps run the same one.
 */
function softMin(temperature = 1, x = none, y = none, potential = none) {
  const cost = lazyI(x).sqdist(lazyJ(y)).div(2);
  const exponent = lazyJ(potential).sub(cost).div(param(temperature));
  return exponent
    .logSumExp('j')
    .sub(Math.log(y.shape[0] ?? 0))
    .mul(-temperature);
}

/** The lengths whose squares are the temperatures: they fall by a factor a step from the diameter, that of the box around the points, to the blur. */
async function lengths(x = none, y = none, blur = 0.05, scaling = 0.5) {
  const from = await x.min(0).minimum(y.min(0));
  const diameter = Number(await x.max(0).maximum(y.max(0)).sub(from).square().sum().sqrt().item());
  const steps = Math.ceil(Math.log(blur / diameter) / Math.log(scaling));
  return [diameter, ...Array.from({ length: steps }, (_, k) => diameter * scaling ** k), blur];
}

/** The divergence of two clouds whose points all weigh the same, its gradient by the points of the first, and the potentials. */
async function sinkhorn(x = none, y = none, blur = 0.05, scaling = 0.5) {
  const all = await lengths(x, y, blur, scaling);
  const zero = (of = x) => zeros([of.shape[0] ?? 0, 1], { dtype: 'float64', device });
  /** New potentials: of x against y, of y against x, and of each cloud against itself. */
  const step = async (length = 1, { f, g, p, q } = from) => ({
    f: await softMin(length ** 2, x, y, g),
    g: await softMin(length ** 2, y, x, f),
    p: await softMin(length ** 2, x, x, p),
    q: await softMin(length ** 2, y, y, q),
  });
  const from = { f: await zero(x), g: await zero(y), p: await zero(x), q: await zero(y) };
  let now = await step(all[0], from);
  for (const length of all) {
    const { f, g, p, q } = await step(length, now);
    now = {
      f: await f.add(now.f).div(2),
      g: await g.add(now.g).div(2),
      p: await p.add(now.p).div(2),
      q: await q.add(now.q).div(2),
    };
  }
  const end = await step(blur, now);
  const value = await end.f.sub(end.p).mean().add(end.g.sub(end.q).mean());
  /** What the last step says of x, while potentials and the other cloud stay as they are. */
  const last = (moved = x) =>
    softMin(blur ** 2, moved, y, now.g)
      .sub(softMin(blur ** 2, moved, x, now.p))
      .mean();
  return { value: Number(await value.item()), gradient: await grad(last)(x) };
}

// Two species of irises. By a transcription of GeomLoss's algorithm to numpy 2.4; an assignment by scipy costs 4.19268274.
const [setosa, versicolor] = await Promise.all(scaledIrises().map((flowers) => cloud(flowers, 4)));
for (const { scaling, wanted } of [
  { scaling: 0.5, wanted: 4.18179994 },
  { scaling: 0.9, wanted: 4.19022382 },
]) {
  const { value } = await sinkhorn(setosa, versicolor, 0.05, scaling);
  console.log(`irises, scaling ${scaling}: ${value.toFixed(8)}`);
  assert.ok(Math.abs(value - wanted) < 1e-7);
}
const same = await sinkhorn(setosa, setosa);
assert.ok(Math.abs(same.value) < 1e-12);

// From a disk to a crescent.
let state = 28;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const N = whole ? 50_000 : 500;
const [disk, crescent] = [new Float64Array(2 * N), new Float64Array(2 * N)];
for (let i = 0; i < N; i++) {
  const angle = 2 * Math.PI * random();
  const radius = 0.5 * Math.sqrt(random());
  disk.set([radius * Math.cos(angle) - 0.9, radius * Math.sin(angle) - 0.3], 2 * i);
  const turn = Math.PI * (1.25 * random() - 0.5);
  const away = 1 + 0.5 * (random() - 0.5) * Math.cos(0.8 * turn - 0.1);
  crescent.set([away * Math.cos(turn), away * Math.sin(turn)], 2 * i);
}
const [x, y] = [await cloud(disk), await cloud(crescent)];
const { value, gradient } = await timed(`two clouds of ${N} points`, () =>
  sinkhorn(x, y, 0.02, 0.8),
);
// each point counts for 1 / N of the mean
const moved = await x.sub(gradient.mul(N)).toTypedArray();
const left = await sinkhorn(await cloud(Float64Array.from(moved)), y);
console.log(
  `it costs ${value.toFixed(5)}; of the points where they were moved, ${left.value.toFixed(5)}`,
);
// By scipy 1.17, linear_sum_assignment of the 500 points: 1.16673.
assert.ok(whole || Math.abs(value - 1.16673) < 1e-3);
assert.ok(left.value < value / 500);

// Blue: where the points were, orange: the other cloud, black: where they were moved, and grey the ways.
const ways = Array.from({ length: 500 }, (_, k) => Math.floor((k * N) / 500)).map((i) => ({
  x: disk[2 * i],
  y: disk[2 * i + 1],
  goalX: crescent[2 * i],
  goalY: crescent[2 * i + 1],
  endX: moved[2 * i],
  endY: moved[2 * i + 1],
}));
await savePlot('sinkhorn-divergence.svg', {
  aspectRatio: 1,
  x: { label: null },
  y: { label: null },
  marks: [
    Plot.link(ways, { x1: 'x', y1: 'y', x2: 'endX', y2: 'endY', stroke: '#ccc', strokeWidth: 0.6 }),
    Plot.dot(ways, { x: 'x', y: 'y', r: 2.5, fill: '#1f77b4' }),
    Plot.dot(ways, { x: 'goalX', y: 'goalY', r: 4, fill: '#ff7f0e' }),
    Plot.dot(ways, { x: 'endX', y: 'endY', r: 2, fill: 'black' }),
  ],
});
console.log('wrote sinkhorn-divergence.svg');
