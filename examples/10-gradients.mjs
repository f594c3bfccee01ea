// 10. Gradients. cdistBackward and runKernelBackward take dL/d(result) and give dL/d(inputs) and dL/d(parameters). They compute
//     the distances again instead of reading the result. Checked here by differences.
import assert from 'node:assert/strict';
import { cdist, cdistBackward, kernels, runKernel, runKernelBackward, tensor } from '@mercer/core';

const numbers = (length = 0, seed = 0) =>
  Float64Array.from({ length }, (_, i) => Math.sin((i + 2) * (i + seed)));
const [as, bs, gs] = [numbers(30 * 4, 1), numbers(20 * 4, 2), numbers(30 * 20, 3)];
const b = await tensor(bs, { shape: [20, 4] });
const device = b.device;
const gradient = await tensor(gs, { shape: [30, 20], device }); // dL/d(result)

/** L: the result weighted by `gradient`, with one number of a moved. */
async function loss(kind = '', at = 0, step = 0, h = 1.5) {
  const moved = as.slice();
  moved[at] = (moved[at] ?? 0) + step;
  const a = await tensor(moved, { shape: [30, 4], device });
  const result =
    kind === 'cdist'
      ? await cdist(a, b, { p: 3 })
      : await runKernel(kernels.gaussian, a, b, { bandwidth: h, epsilon: 0 });
  const values = await result.toTypedArray();
  return values.reduce((sum, value, i) => sum + value * (gs[i] ?? 0), 0);
}

const a = await tensor(as, { shape: [30, 4], device });
const distance = await cdistBackward(gradient, a, b, { p: 3 });
const kernel = await runKernelBackward(kernels.gaussian, gradient, a, b, {
  bandwidth: 1.5,
  epsilon: 0,
  wrt: ['a', 'bandwidth'],
});
const step = 1e-5;
for (const [kind, gradients] of [
  ['cdist', await distance.a.toTypedArray()],
  ['gaussian', await kernel.a.toTypedArray()],
]) {
  for (const at of [0, 57, 119]) {
    const name = String(kind);
    const numeric = (await loss(name, at, step)) - (await loss(name, at, -step));
    const value = Number(gradients?.[at]);
    console.log(`${name} d/da[${at}] = ${value}, by differences ${numeric / (2 * step)}`);
    assert.ok(Math.abs(value - numeric / (2 * step)) < 1e-7);
  }
}
const [byBandwidth = NaN] = await kernel.bandwidth.toTypedArray();
const change =
  (await loss('gaussian', 0, 0, 1.5 + step)) - (await loss('gaussian', 0, 0, 1.5 - step));
console.log(`gaussian d/dh = ${byBandwidth}, by differences ${change / (2 * step)}`);
assert.ok(Math.abs(byBandwidth - change / (2 * step)) < 1e-7);
