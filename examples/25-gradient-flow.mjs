// 25. One cloud of points flows towards another: each step moves the points against the gradient of the energy distance between the
//     clouds, 2 E|x - y| - E|x - x'| - E|y - y'| (Szekely and Rizzo 2013), which is 0 only where both are alike. `grad` goes through
//     sums over all pairs of points, whose matrices are never stored.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, random, tensor, valueAndGrad } from '@mercer/core';
import * as Plot from '@observablehq/plot';

const [N, STEPS, RATE] = [500, 60, 0.3];

// From a small disk to a ring with a bar.
const start = await random
  .normal([N, 2], { key: random.key(3), dtype: 'float64' })
  .mul(0.15)
  .add(0.3);
const { device } = start;
const goal = Array.from({ length: N }, (_, i) => {
  const turn = (2 * Math.PI * i) / 350;
  return i < 350 ? [Math.cos(turn), Math.sin(turn)] : [(i - 424.5) / 75, 0];
});
const target = await tensor(Float64Array.from(goal.flat()), { shape: [N, 2], device });

/** The mean distance of the points of two clouds. */
const distance = (a = start, b = start) => lazyI(a).sub(lazyJ(b)).norm2().sum('j').mean().div(N);
const within = Number(await distance(target, target).item());
const energy = (points = start) =>
  distance(points, target).mul(2).sub(distance(points, points)).sub(within);

let points = start;
let value = Infinity;
const paths = [await points.toTypedArray()];
for (let step = 0; step < STEPS; step++) {
  const { value: now, grad } = await valueAndGrad(energy)(points);
  const before = value;
  value = Number(await now.item());
  assert.ok(value < before);
  // each point counts for 1 / N of the mean
  points = await points.sub(grad.mul(RATE * N));
  paths.push(await points.toTypedArray());
}
const started = Number(await energy(start).item());
console.log(
  `energy distance ${started.toFixed(4)} at the start, ${value.toExponential(2)} after ${STEPS} steps`,
);
assert.ok(value < started / 1000);

// The gradient at the start in plain loops: that of |x - y| by x is (x - y) / |x - y|, and 0 where both are the same point.
const { grad: computed } = await valueAndGrad(energy)(start);
const [slopes, from] = [await computed.toTypedArray(), await start.toTypedArray()];
const to = await target.toTypedArray();
function slope(i = 0, of = from) {
  const sum = [0, 0];
  for (let j = 0; j < N; j++) {
    const apart = [0, 1].map((k) => (from[2 * i + k] ?? 0) - (of[2 * j + k] ?? 0));
    const length = Math.hypot(...apart);
    if (length > 0) apart.forEach((one, k) => (sum[k] = (sum[k] ?? 0) + one / length));
  }
  return sum;
}
for (let i = 0; i < N; i += 7) {
  const [away, apart] = [slope(i, to), slope(i, from)];
  for (let k = 0; k < 2; k++) {
    const wanted = (2 * ((away[k] ?? 0) - (apart[k] ?? 0))) / N ** 2;
    assert.ok(Math.abs((slopes[2 * i + k] ?? 0) - wanted) < 1e-12);
  }
}

// Grey: the ways of the points. Orange: the other cloud. Blue: where the points are in the end.
const ways = paths.flatMap((all) =>
  Array.from({ length: N }, (_, i) => ({ i, x: all[2 * i] ?? 0, y: all[2 * i + 1] ?? 0 })),
);
await savePlot('gradient-flow.svg', {
  aspectRatio: 1,
  marks: [
    Plot.line(ways, { x: 'x', y: 'y', z: 'i', stroke: '#ccc', strokeWidth: 0.6 }),
    Plot.dot(goal, { r: 4, fill: '#ff7f0e' }),
    Plot.dot(ways.slice(-N), { x: 'x', y: 'y', r: 2.5, fill: '#1f77b4' }),
  ],
});
console.log('wrote gradient-flow.svg');
