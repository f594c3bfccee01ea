// 26. Kernel interpolation, or Kriging: a function through noisy values, as a sum of kernels at the points. The weights solve
//     (K + alpha I) a = b by conjugate gradients; K is a formula and is never stored. First a curve, from points of a line by one
//     `solve`. Then a mountain, from four fifths of the cells of its map, with a preconditioner: nearby points make K almost singular,
//     and without one the solve takes several times the steps.
//
//     Data: the heights of Maunga Whau in Auckland on a grid of 10 m, digitised by Ross Ihaka, as volcano.json in the npm package
//     vega-datasets (BSD-3-Clause).
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { savePlot } from '@mercer/cli/plot';
import { cg, lazyI, lazyJ, pivotedCholesky, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

let state = 26;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

// A curve, and values of it with errors of 0.05.
const N = whole ? 10_000 : 2000;
const curve = (x = 0) => x + 0.5 * Math.sin(6 * x) + 0.1 * Math.sin(20 * x);
const places = new Float64Array(N);
const values = places.map((_, i) => {
  const place = random();
  places[i] = place;
  return curve(place) + 0.05 * normal();
});
const x = await tensor(places, { shape: [N, 1] });
const { device } = x;
const b = await tensor(values, { device });

const gaussian = (from = x, to = x) =>
  lazyI(from)
    .sqdist(lazyJ(to))
    .div(-2 * 0.1 ** 2)
    .exp();
const a = await timed(`${N} points of a line`, () =>
  gaussian().solve(b, { alpha: 1, rtol: 1e-10 }),
);

const STEPS = 400;
const asked = Float64Array.from({ length: STEPS + 1 }, (_, k) => k / STEPS);
const line = await tensor(asked, { shape: [asked.length, 1], device });
const fitted = await (await gaussian(line).matmul(a)).toTypedArray();

// By numpy 2.4, np.linalg.solve(K + I, b), at 0, 1/4, 1/2, 3/4 and 1.
const byNumpy = whole
  ? [0.019963519526, 0.654277685633, 0.516879513607, 0.323173397834, 0.927552722091]
  : [0.040383855719, 0.655237648191, 0.519971462498, 0.325481441322, 0.89659701186];
byNumpy.forEach((wanted, k) =>
  assert.ok(Math.abs((fitted[(k * STEPS) / 4] ?? NaN) - wanted) < 1e-8),
);

// Dots: what was given. Grey: the curve. Red: what was found.
const shown = Array.from({ length: 1000 }, (_, i) => Math.floor((i * N) / 1000));
await savePlot('kernel-interpolation.svg', {
  x: { label: 'place' },
  y: { label: 'value' },
  marks: [
    Plot.dot(shown, { x: (i) => places[i], y: (i) => values[i], r: 2, fill: '#9ecae1' }),
    Plot.lineY(asked, {
      x: Plot.identity,
      y: (place) => curve(place),
      stroke: '#999',
      strokeWidth: 6,
    }),
    Plot.lineY(fitted, { x: asked, stroke: '#d62728', strokeWidth: 2 }),
  ],
});
console.log('wrote kernel-interpolation.svg');

// The mountain: of every second row and column in the small size. Every fifth cell is left out, and predicted.
const require = createRequire(import.meta.url);
const map = require('vega-datasets/data/volcano.json');
const [width, height] = [Number(map.width), Number(map.height)];
const cells = Array.from(Float64Array.from(map.values), (height, at) => ({
  column: at % width,
  row: Math.floor(at / width),
  height,
}));
const stride = whole ? 1 : 2;
const known = cells.filter(({ column, row }) => column % stride === 0 && row % stride === 0);
const given = known.filter((_, at) => at % 5 !== 0);
const test = known.filter((_, at) => at % 5 === 0);

/** Mean and deviation. */
function spread(numbers = [0]) {
  const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const squares = numbers.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / numbers.length) };
}
const columns = spread(given.map(({ column }) => column));
const rows = spread(given.map(({ row }) => row));
const heights = spread(given.map(({ height }) => height));
const scaled = (of = columns, value = 0) => (value - of.mean) / of.deviation;
/** Points of the plane, scaled to a mean of 0 and a deviation of 1. */
const pointsOf = (some = cells) =>
  tensor(
    Float64Array.from(
      some.flatMap(({ column, row }) => [scaled(columns, column), scaled(rows, row)]),
    ),
    { shape: [some.length, 2], device },
  );

const points = await pointsOf(given);
const levels = await tensor(
  Float64Array.from(given, ({ height }) => scaled(heights, height)),
  { device },
);
/** Matern's kernel of smoothness 5/2 and length 0.2. */
function matern(from = points, to = points) {
  const d = lazyI(from)
    .sqdist(lazyJ(to))
    .mul(5 / 0.2 ** 2)
    .sqrt();
  return d.square().div(3).add(d).add(1).mul(d.neg().exp());
}
const kernel = matern().asOperator();
const noise = 1e-3;
const plain = await timed(`${given.length} cells`, () =>
  cg(kernel.shift(noise), levels, { rtol: 1e-8 }),
);
const solution = await timed(`${given.length} cells, preconditioned`, async () => {
  const preconditioner = await pivotedCholesky(kernel, { rank: whole ? 500 : 250, shift: noise });
  const solved = await cg(kernel.shift(noise), levels, { rtol: 1e-8, preconditioner });
  preconditioner.dispose();
  return solved;
});
assert.ok(plain.converged && solution.converged);
console.log(`${plain.iterations} steps, with the preconditioner ${solution.iterations}`);
assert.ok(solution.iterations < plain.iterations / 2);

/** Heights in metres. */
async function predict(some = cells) {
  const levelsThere = await matern(await pointsOf(some), points).matmul(solution.x);
  return await levelsThere.mul(heights.deviation).add(heights.mean).toTypedArray();
}
const predicted = await predict(test);
const squares = test.map(({ height }, at) => ((predicted[at] ?? NaN) - height) ** 2);
const error = Math.sqrt(squares.reduce((sum, one) => sum + one, 0) / test.length);
console.log(`${test.length} cells that were left out: ${error.toFixed(4)} m off`);
// By scipy 1.17, cho_solve(cho_factor(K + I / 1000), levels).
assert.ok(Math.abs(error - (whole ? 0.559430619 : 1.025075694)) < 1e-6);

// The mountain as predicted, in steps of 5 m: their edges are contour lines. Black dots: what was given.
await savePlot('kernel-interpolation-mountain.svg', {
  axis: null,
  aspectRatio: 1,
  y: { reverse: true },
  color: { legend: true, label: 'metres' },
  marks: [
    Plot.contour(await predict(cells), { width, height, interval: 5, fill: Plot.identity }),
    Plot.dot(given, {
      x: ({ column }) => column + 0.5,
      y: ({ row }) => row + 0.5,
      r: 0.8,
      fill: 'black',
    }),
  ],
});
console.log('wrote kernel-interpolation-mountain.svg');
