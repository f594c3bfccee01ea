// 16. Kernel density: the logarithm of the mean of Gaussians at the points of a sample, by one logSumExp over the sample. The
//     largest exponent is taken out first, so that the density far away, which is 0 in float32, still has its logarithm.
import assert from 'node:assert/strict';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import { greyColour, Picture } from './lib/picture.mjs';

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
const box = { left: -2.5, right: 2.5, bottom: -2.5, top: 2.5 };
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
// A heat map in steps: the edges of the shades are contour lines.
const shade = (cell = 0) => Math.floor(10 * Math.exp((logs[cell] ?? 0) - highest)) / 10;
const picture = new Picture(box);
picture.cells(side, side, (cell) => greyColour(shade(cell)));
picture.dots(sample, () => '#d62728', 1);
picture.save('kernel-density.svg');

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
