import { grad, vmap } from '@mercer/autodiff';
import { device, tensor, type Tensor } from '@mercer/tensor';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { functional } from '../index.js';
import { perSampleGradients } from '../per-sample/per-sample-gradients.js';

const cpu = device('cpu');
const on = { device: cpu, dtype: 'float64' } as const;

it('vmap of a layer leaves arguments that are not mapped as they are', async () => {
  using x = await tensor(
    [
      [1, 2],
      [3, 4],
    ],
    on,
  );
  // as many members as examples
  using weights = await tensor([[[1, 2]], [[3, -4]]], on);
  const together = await vmap((weight: Tensor) => functional.linear(x, weight))(weights);
  expect(together.shape).toEqual([2, 2, 1]);
  expect(await together.toNested()).toEqual([
    [[5], [11]],
    [[-5], [-7]],
  ]);
  const given = await vmap((one: Tensor, weight: Tensor) => functional.linear(one, weight), {
    inAxes: [null, 0],
  })(x, weights);
  expect(await given.toNested()).toEqual(await together.toNested());
  for (const one of [together, given]) one.dispose();
});

it('gradients of each example have gradients, by vmap, and rules say that they are not enough', async () => {
  using weight = await tensor([[1, -2]], on);
  using x = await tensor(
    [
      [1, 2],
      [3, 4],
      [-1, 1],
    ],
    on,
  );
  using y = await tensor([[1], [2], [3]], on);
  const loss = async (p: { weight: Tensor }, a: Tensor, b: Tensor): Promise<Tensor> =>
    (await functional.linear(a, p.weight)).sub(b).square().mean();
  const total =
    (method?: 'rules' | 'vmap') =>
    async (p: { weight: Tensor }): Promise<Tensor> =>
      (await perSampleGradients(loss, p, x, y, { method })).weight.square().sum();
  const found = await grad(total())({ weight });
  const wanted = await grad(total('vmap'))({ weight });
  // d/dw of the sum of (2 e x)^2 with e = x . w - y is 8 e |x|^2 x
  const rows = [
    [1, 2, 1],
    [3, 4, 2],
    [-1, 1, 3],
  ];
  const sums = [0, 0];
  for (const [a = 0, b = 0, c = 0] of rows) {
    const scale = 8 * (a - 2 * b - c) * (a * a + b * b);
    sums[0] = (sums[0] ?? 0) + scale * a;
    sums[1] = (sums[1] ?? 0) + scale * b;
  }
  expect(await wanted.weight.toNested()).toEqual([sums]);
  expect(await found.weight.toNested()).toEqual([sums]);
  await expect(grad(total('rules'))({ weight })).rejects.toThrow(
    /values of another transform reach a layer/,
  );
});

it('a convolution gives back what it computes of constants, within vmap and derivatives', async () => {
  const made = (shape: number[], seed: number): Promise<Tensor> =>
    tensor(
      Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(seed + i)),
      { ...on, shape },
    );
  using x = await made([2, 3, 5, 6], 1);
  using weight = await made([4, 3, 3, 3], 2);
  using weights = await made([2, 4, 3, 3, 3], 2);
  using bias = await made([4], 3);
  using biases = await made([2, 4], 3);
  const run = (w: Tensor, b: Tensor) => functional.conv2d(x, w, b, { padding: 1, stride: 2 });
  const calls: Readonly<Record<string, () => Promise<Tensor>>> = {
    'weights that are mapped': () => vmap(run, { inAxes: [0, null] })(weights, bias),
    'biases that are mapped': () => vmap(run, { inAxes: [null, 0] })(weight, biases),
    'a gradient by the weight': () => grad((w: Tensor) => run(w, bias).square().sum())(weight),
    'a gradient by the bias': () => grad((b: Tensor) => run(weight, b).square().sum())(bias),
  };
  for (const [name, call] of Object.entries(calls)) {
    const kept = await memoryKept(cpu, async () => {
      (await call()).dispose();
      // what is given back behind a result
      await setTimeout(1);
    });
    expect([name, kept]).toEqual([name, NOTHING]);
  }
  using mapped = await calls['weights that are mapped']!();
  using alone = await run(weights.slice(1), bias);
  expect(await mapped.slice(1).toNested()).toEqual(await alone.toNested());
});
