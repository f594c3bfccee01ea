// 31. A support vector machine with a Gaussian kernel, by projected gradients. The dual problem is to maximise
//     sum(a) - |sum a y phi|^2 / 2 over weights 0 <= a <= C with sum(a y) = 0. Each step goes along the gradient 1 - y K (y a), one
//     product with a kernel matrix that is never stored, and back to the nearest weights that are allowed. Nesterov's momentum, which starts
//     anew when the value falls, saves most of the steps; they end where no pair of weights could be improved (as LIBSVM's do).
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

// Two arms of a spiral, blurred.
let state = 31;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const N = whole ? 5000 : 600;
const [C, GAMMA] = [1, 20];
const labels = Float64Array.from({ length: N }, (_, i) => (i % 2 === 0 ? 1 : -1));
const points = new Float64Array(2 * N);
for (const [i, label] of labels.entries()) {
  const turn = Math.PI * (0.25 + 2 * random());
  const radius = (label * turn) / (2.25 * Math.PI);
  points.set(
    [radius * Math.cos(turn) + 0.09 * normal(), radius * Math.sin(turn) + 0.09 * normal()],
    2 * i,
  );
}
const x = await tensor(points, { shape: [N, 2] });
const { device } = x;
const kernel = (from = x, to = x) => lazyI(from).sqdist(lazyJ(to)).mul(-GAMMA).exp();
const matrix = kernel().asOperator();

/** K times a vector of the host. */
async function times(vector = labels) {
  const v = await tensor(vector, { device });
  return await (await matrix.matvec(v)).toTypedArray();
}
const dot = (a = labels, b = labels) => a.reduce((sum, one, i) => sum + one * (b[i] ?? 0), 0);

/** The nearest weights that are allowed: all move by one number times their labels until the sum is 0, which halving an interval finds. */
function project(wanted = labels) {
  const moved = (by = 0) =>
    wanted.map((one, i) => Math.min(C, Math.max(0, one - by * (labels[i] ?? 0))));
  let [low, high] = [-1, 1].map(
    (sign) => sign * (C + wanted.reduce((most, one) => Math.max(most, Math.abs(one)), 0)),
  );
  for (let k = 0; k < 60; k++) {
    const middle = ((low ?? 0) + (high ?? 0)) / 2;
    if (dot(moved(middle), labels) > 0) low = middle;
    else high = middle;
  }
  return moved(high);
}

// The longest step that is sure to lead upwards: one by the largest eigenvalue, here by powers, and a little less.
let direction = labels.map(() => 1 / Math.sqrt(N));
let largest = 0;
for (let k = 0; k < 20; k++) {
  const next = await times(direction);
  largest = Math.sqrt(dot(next, next));
  direction = next.map((one) => one / largest);
}
const rate = 1 / (1.05 * largest);

const solved = await timed(`${N} points`, async () => {
  let weights = new Float64Array(N);
  let ahead = weights; // where momentum leads
  let product = new Float64Array(N); // K (y weights)
  let productAhead = product;
  let [value, speed, gap, steps] = [0, 1, Infinity, 0];
  let bias = 0;
  for (; gap > (whole ? 1e-3 : 1e-6) && steps < 20_000; steps++) {
    const next = project(
      ahead.map((one, i) => one + rate * (1 - (labels[i] ?? 0) * (productAhead[i] ?? 0))),
    );
    const signed = next.map((one, i) => one * (labels[i] ?? 0));
    const nextProduct = await times(signed);
    const nextValue = next.reduce((sum, one) => sum + one, 0) - dot(signed, nextProduct) / 2;
    // Of the weights that may rise and those that may fall in y a: how far are they from agreeing on the bias?
    let [lower, upper] = [-Infinity, Infinity];
    for (const [i, label] of labels.entries()) {
      const wanted = label - (nextProduct[i] ?? 0);
      const [mayRise, mayFall] = [(next[i] ?? 0) < C, (next[i] ?? 0) > 0];
      if (label > 0 ? mayRise : mayFall) lower = Math.max(lower, wanted);
      if (label > 0 ? mayFall : mayRise) upper = Math.min(upper, wanted);
    }
    [gap, bias] = [lower - upper, (lower + upper) / 2];
    if (nextValue < value) speed = 1;
    const faster = (1 + Math.sqrt(1 + 4 * speed ** 2)) / 2;
    const momentum = nextValue < value ? 0 : (speed - 1) / faster;
    ahead = next.map((one, i) => one + momentum * (one - (weights[i] ?? 0)));
    productAhead = nextProduct.map((one, i) => one + momentum * (one - (product[i] ?? 0)));
    [weights, product, value, speed] = [next, nextProduct, nextValue, faster];
  }
  return { weights, value, bias, steps };
});
const { weights, value, bias, steps } = solved;
const support = [...weights.keys()].filter((i) => (weights[i] ?? 0) > 0);
console.log(
  `${steps} steps, value ${value.toFixed(5)}, bias ${bias.toFixed(5)}, ${support.length} support vectors`,
);

/** What the machine says of points of the plane: its sign is the class, +-1 the margin. */
async function decide(asked = points) {
  const there = await tensor(asked, { shape: [asked.length / 2, 2], device });
  const signed = await tensor(
    weights.map((one, i) => one * (labels[i] ?? 0)),
    { device },
  );
  return await kernel(there, x).matmul(signed).add(bias).toTypedArray();
}

// By scikit-learn 1.9, SVC(C=1, gamma=20, tol=1e-9; 1e-6 in the whole size).
const bySvc = whole
  ? { value: 1143.09299136, bias: 0.02148, decisions: [-0.02437, -1.4804, 3.13523] }
  : { value: 54.5654291102, bias: -0.03337, decisions: [0.14129, -1.06191, 1.75098] };
const exact = whole ? 1e-2 : 1e-5;
assert.ok(Math.abs(value / bySvc.value - 1) < (whole ? 1e-5 : 1e-10));
assert.ok(Math.abs(bias - bySvc.bias) < exact);
const decisions = await decide(Float64Array.of(0, 0, 0.5, 0.5, -0.3, 0.2));
for (const [at, wanted] of bySvc.decisions.entries()) {
  assert.ok(Math.abs((decisions[at] ?? NaN) - wanted) < exact);
}

// Red and blue: what the machine says, white where it does not know. Lines: the border and the margins. The support vectors have dark rims.
const side = 120;
const centre = (cell = 0) => ((cell + 0.5) / side) * 2.4 - 1.2;
const grid = Float64Array.from({ length: 2 * side ** 2 }, (_, at) => {
  const cell = Math.floor(at / 2);
  return centre(at % 2 === 0 ? cell % side : Math.floor(cell / side));
});
const said = await decide(grid);
const square = { width: side, height: side, x1: -1.2, x2: 1.2, y1: -1.2, y2: 1.2 };
const few = [...labels.keys()].slice(0, 1500);
const place = { x: (i = 0) => points[2 * i], y: (i = 0) => points[2 * i + 1] };
await savePlot('kernel-svm.svg', {
  aspectRatio: 1,
  color: { type: 'diverging', scheme: 'RdBu', reverse: true },
  marks: [
    Plot.raster(said, square),
    Plot.contour(said, { ...square, thresholds: [-1, 0, 1], stroke: '#555' }),
    Plot.dot(support, { ...place, r: whole ? 2.4 : 5, fill: '#222' }),
    Plot.dot(few, {
      ...place,
      r: whole ? 1.4 : 3.5,
      fill: (i) => (i % 2 === 0 ? '#d62728' : '#1f4fb4'),
    }),
  ],
});
console.log('wrote kernel-svm.svg');
