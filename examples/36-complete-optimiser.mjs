// 36. Everything that a training step may need, in one: Shampoo on a network in bfloat16 with float32 masters, products of 16 bits by
//     `autocast`, the hidden layers computed a second time for the gradient instead of being kept (`checkpoint`), and an activation
//     that is a kernel of one's own (`unsafeKernel`) with a derivative of its own (`customVjp`). The network tells two spirals apart.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import {
  adam,
  autocast,
  checkpoint,
  customVjp,
  grad,
  layers,
  losses,
  random,
  shampoo,
  tensor,
  unsafeKernel,
  valueAndGrad,
} from '@mercer/core';
import * as Plot from '@observablehq/plot';

const [POINTS, HIDDEN, STEPS, GRID] = [160, 32, 120, 60];

const sample = await tensor([-1.5, -0.25, 0.5, 2]);

// The squared rectifier max(x, 0)^2, as CUDA C++ and, for a CPU, as C++.
const squaredRelu = unsafeKernel({
  name: 'squared_relu',
  parameters: { x: { input: 'float32' }, y: { output: 'float32' }, n: { size: 'int64' } },
  sizes: ({ x }) => ({ y: x.shape, n: x.size }),
  launch: ({ n }) => ({ grid: Math.ceil(n / 256), block: 256, tasks: n }),
  cuda: `
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 ? x[i] * x[i] : 0;`,
  cpu: 'for (i64 i = begin; i < end; ++i) y[i] = x[i] > 0 ? x[i] * x[i] : 0;',
});
const forward = (x = sample) => squaredRelu({ x });
const activate = customVjp(forward, (cotangent, { args: [x = sample] }) => [
  x.relu().mul(2).mul(cotangent),
]);
const total = (x = sample) => activate(x).sum();
const slopes = await grad(total)(sample);
assert.deepEqual(await slopes.toNested(), [0, 0, 1, 4]);

/** Two spirals, one point after the other: places in the plane, and which of the spirals each is of. */
const label = Int32Array.from({ length: POINTS }, (_, n) => n % 2);
const place = Float32Array.from(
  Array.from({ length: POINTS }, (_, n) => {
    const along = 0.25 + (0.75 * Math.floor(n / 2)) / (POINTS / 2);
    const angle = 8 * along + Math.PI * (n % 2);
    return [along * Math.cos(angle), along * Math.sin(angle)];
  }).flat(),
);
const points = await tensor(place, { shape: [POINTS, 2] });
const { device } = points;
const labels = await tensor(label, { device });

const first = layers.linear({ inputs: 2, outputs: HIDDEN });
const second = layers.linear({ inputs: HIDDEN, outputs: HIDDEN });
const output = layers.linear({ inputs: HIDDEN, outputs: 2 });

/** Parameters in bfloat16, the same for every run. */
async function initial() {
  const [a, b, c] = random.split(random.key(36), 3);
  return {
    first: await first.init(a, { device, dtype: 'bfloat16' }),
    second: await second.init(b, { device, dtype: 'bfloat16' }),
    output: await output.init(c, { device, dtype: 'bfloat16' }),
  };
}
const start = await initial();

/** What is computed again for the gradient: its results are not kept. */
const both = async (params = start, x = points) => {
  const once = await activate(await first.apply(params.first, x.mul(3)).cast('float32'));
  return activate(await second.apply(params.second, once).cast('float32'));
};
const hidden = checkpoint(both);
const scores = async (params = start, x = points) =>
  output.apply(params.output, await hidden(params, x));
const loss = async (params = start) => losses.crossEntropy(await scores(params), labels);
const descend = valueAndGrad(autocast(loss));

/** The losses of some steps, and the network after them. */
async function train(optimiser = adam()) {
  const params = await initial();
  const state = await optimiser.init(params);
  const found = [];
  for (let step = 0; step < STEPS; step++) {
    const { value, grad: gradient } = await descend(params);
    found.push(value);
    await optimiser.step(params, gradient, state);
  }
  const masters = [...state.tensors].filter(([name]) => name.endsWith('/master'));
  return {
    params,
    losses: await Promise.all(found.map(async (value) => Number(await value.item()))),
    masters: masters.map(([, one]) => one.dtype),
  };
}

const runs = {
  adam: await train(adam({ lr: 0.01 })),
  shampoo: await train(shampoo({ lr: 0.01, grafting: 'adam', frequency: 10, eps: 1e-8 })),
};
for (const [name, { losses: found }] of Object.entries(runs)) {
  console.log(`${name}: loss ${found[0]?.toFixed(3)} to ${found.at(-1)?.toFixed(4)}`);
}
const { params, masters } = runs.shampoo;
assert.equal(params.first.weight.dtype, 'bfloat16');
assert.deepEqual(masters, Array(6).fill('float32'));

const named = await (
  await scores(params)
)
  .argMax(1)
  .cast('int32')
  .eq(labels)
  .cast('float32')
  .mean();
console.log(`${(100 * Number(await named.item())).toFixed(1)}% of the points are told apart`);
assert.ok(Number(await named.item()) > 0.95);
for (const { losses: found } of Object.values(runs)) {
  assert.ok((found.at(-1) ?? NaN) < (found[0] ?? NaN) / 3);
}

// What the network says of each place of the plane: red and blue as sure as it is.
const grid = Float32Array.from(
  Array.from({ length: GRID * GRID }, (_, cell) =>
    [cell % GRID, Math.floor(cell / GRID)].map((at) => (2.4 * (at + 0.5)) / GRID - 1.2),
  ).flat(),
);
const everywhere = await tensor(grid, { shape: [GRID * GRID, 2], device });
const sure = await (await scores(params, everywhere)).softmax(1).toTypedArray();
await savePlot('complete-optimiser.svg', {
  aspectRatio: 1,
  color: { type: 'diverging', scheme: 'RdBu', reverse: true, domain: [-1, 1] },
  marks: [
    Plot.raster(
      { length: GRID * GRID },
      {
        width: GRID,
        height: GRID,
        x1: -1.2,
        x2: 1.2,
        y1: -1.2,
        y2: 1.2,
        fill: (_ = 0, cell = 0) => 0.8 * (2 * (sure[2 * cell] ?? 0) - 1),
      },
    ),
    Plot.dot(label, {
      x: (_, n) => place[2 * n],
      y: (_, n) => place[2 * n + 1],
      r: 4,
      fill: (one) => (one === 0 ? 'darkred' : 'darkblue'),
    }),
  ],
});
console.log('wrote complete-optimiser.svg');
