// 13. Gaussian convolution of a signed measure: at every point of a grid, the sum of exp(-|x - y|^2 / (2 s^2)) b over 400 points y
//     of the plane with weights b of both signs. The 5184 x 400 matrix is a formula; it is never stored.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';

let state = 13;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;

// A positive ring around a negative cloud, of total mass 0.
const [count, side, width] = [400, 72, 0.12];
const points = new Float32Array(2 * count);
const weights = new Float32Array(count);
for (let j = 0; j < count; j++) {
  const isRing = j % 2 === 0;
  const angle = 2 * Math.PI * random();
  const radius = isRing ? 1 + 0.1 * random() : 0.5 * Math.sqrt(random());
  points.set([radius * Math.cos(angle), radius * Math.sin(angle)], 2 * j);
  weights[j] = isRing ? 1 : -1;
}
const centre = (cell = 0) => ((cell + 0.5) / side) * 3 - 1.5;
const grid = Float32Array.from({ length: 2 * side * side }, (_, at) => {
  const cell = Math.floor(at / 2);
  return centre(at % 2 === 0 ? cell % side : Math.floor(cell / side));
});

const x = lazyI(await tensor(grid, { shape: [side * side, 2] }), { name: 'x' });
const y = lazyJ(await tensor(points, { shape: [count, 2] }), { name: 'y' });
const b = lazyJ(await tensor(weights, { shape: [count, 1] }), { name: 'b' });
const measure = x
  .sqdist(y)
  .div(-2 * width ** 2)
  .exp()
  .mul(b);
console.log(String(measure));
const field = await (await measure.sum('j')).toTypedArray();

await savePlot('gaussian-convolution.svg', {
  axis: null,
  aspectRatio: 1,
  color: { type: 'diverging', scheme: 'RdBu', reverse: true },
  marks: [
    Plot.raster(field, { width: side, height: side, x1: -1.5, x2: 1.5, y1: -1.5, y2: 1.5 }),
    Plot.dot(weights, {
      x: (_, j) => points[2 * j],
      y: (_, j) => points[2 * j + 1],
      fill: (weight) => (weight > 0 ? 'darkred' : 'darkblue'),
      r: 2,
    }),
  ],
});
console.log('wrote gaussian-convolution.svg');

// The same by hand at some cells, and as a whole: a Gaussian of mass 2 pi s^2 at every point, and the weights add up to 0.
for (const cell of [0, 1242, 2650, 5183]) {
  let [sum, size] = [0, 0];
  for (let j = 0; j < count; j++) {
    const dx = (grid[2 * cell] ?? 0) - (points[2 * j] ?? 0);
    const dy = (grid[2 * cell + 1] ?? 0) - (points[2 * j + 1] ?? 0);
    const term = Math.exp(-(dx * dx + dy * dy) / (2 * width ** 2)) * (weights[j] ?? 0);
    [sum, size] = [sum + term, size + Math.abs(term)];
  }
  const error = Math.abs((field[cell] ?? NaN) - sum);
  assert.ok(error <= 1e-5 * Math.max(size, 1e-30), `cell ${cell}: ${error} of ${size}`);
}
const mass = field.reduce((sum, value) => sum + value * (3 / side) ** 2, 0);
const masses = field.reduce((sum, value) => sum + Math.abs(value) * (3 / side) ** 2, 0);
console.log(`total mass ${mass.toFixed(4)} of ${masses.toFixed(2)} in both signs`);
assert.ok(Math.abs(mass) < 0.01 * masses);
