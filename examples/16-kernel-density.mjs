// 16. Kernel density: the logarithm of the mean of Gaussians at the points of a sample, by one logSumExp over the sample. The
//     largest exponent is taken out first, so that the density far away, which is 0 in float32, still has its logarithm.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';

let state = 16;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const [count, side, bandwidth] = [1000, 64, 0.15];
const sample = new Float32Array(2 * count);
for (let j = 0; j < count; j++) {
  const t = Math.PI * random();
  const [x, y] =
    j % 2 === 0 ? [Math.cos(t), Math.sin(t) - 0.25] : [1 - Math.cos(t), 0.25 - Math.sin(t)];
  sample.set([x - 0.5 + 0.1 * normal(), y + 0.1 * normal()], 2 * j);
}
const box = { x1: -2.5, x2: 2.5, y1: -2.5, y2: 2.5 };
const centre = (cell = 0) => ((cell + 0.5) / side) * 5 - 2.5;
const grid = Float32Array.from({ length: 2 * side * side }, (_, at) => {
  const cell = Math.floor(at / 2);
  return centre(at % 2 === 0 ? cell % side : Math.floor(cell / side));
});

const y = lazyJ(await tensor(sample, { shape: [count, 2] }));
const constant = Math.log(count * 2 * Math.PI * bandwidth ** 2);
/** log of the density at points of the plane. */
async function logDensity(points = grid) {
  const x = lazyI(await tensor(points, { shape: [points.length / 2, 2] }));
  const exponent = x.sqdist(y).div(-2 * bandwidth ** 2);
  return (await (await exponent.logSumExp('j')).toTypedArray()).map((value) => value - constant);
}

const logs = await logDensity();
const highest = Math.max(...logs);
// The edges of the shades are contour lines.
await savePlot('kernel-density.svg', {
  aspectRatio: 1,
  color: { scheme: 'greys', legend: true, label: 'density' },
  marks: [
    Plot.contour(logs.map(Math.exp), { ...box, width: side, height: side, fill: Plot.identity }),
    Plot.dot(
      { length: count },
      { x: (_, j) => sample[2 * j], y: (_, j) => sample[2 * j + 1], r: 1.2, fill: '#d62728' },
    ),
  ],
});
console.log('wrote kernel-density.svg');

const mass = logs.reduce((sum, value) => sum + Math.exp(value), 0) * (5 / side) ** 2;
console.log(
  `the density is at most ${Math.exp(highest).toFixed(3)}, and adds up to ${mass.toFixed(4)}`,
);
assert.ok(Math.abs(mass - 1) < 1e-3);

// Far away the nearest point decides: the logarithm lies between its term and that of as many points as there are.
const far = Float32Array.of(30, 40);
const [logFar = NaN] = await logDensity(far);
let nearest = Infinity;
for (let j = 0; j < count; j++) {
  nearest = Math.min(
    nearest,
    (30 - (sample[2 * j] ?? 0)) ** 2 + (40 - (sample[2 * j + 1] ?? 0)) ** 2,
  );
}
const least = -nearest / (2 * bandwidth ** 2) - constant;
console.log(`at (30, 40) its logarithm is ${logFar.toFixed(1)}, and itself ${Math.exp(logFar)}`);
assert.ok(logFar >= least - 0.01 && logFar <= least + Math.log(count) + 0.01);
