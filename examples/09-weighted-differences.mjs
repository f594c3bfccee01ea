// 9. Weighted differences. The gradient of a kernel machine f(z) = sum_k c[k] exp(-|z - x[k]|_1 / h) at many points at once: a sum over
//    k of c times the kernel matrix times the derivative of the norm. No array of all differences is ever stored.
//    (Kermac calls this cdist_grad. It is not the gradient of cdist: that is cdistBackward, in the next example.)
import assert from 'node:assert/strict';
import { kernels, planOf, runKernel, tensor, weightedDifferences } from '@mercer/core';

const [points, features, queries, h] = [300, 5, 200, 3];
const numbers = (length = 0, seed = 0) =>
  Float64Array.from({ length }, (_, i) => Math.sin((i + 1) * (i + seed)));
const [xs, zs, cs] = [
  numbers(points * features, 1),
  numbers(queries * features, 2),
  numbers(points, 3),
];
const x = await tensor(xs, { shape: [points, features] });
const z = await tensor(zs, { shape: [queries, features] });
const c = await tensor(cs, { shape: [1, points] }); // one output; with several, all are summed in one pass

const kernel = await runKernel(kernels.laplace, x, z, { bandwidth: h }); // points x queries
// weightedDifferences takes features in rows; transposed data are copied into that order by itself.
const sums = await weightedDifferences(kernel, x.transpose(), c, z.transpose(), { p: 1 }); // 1 x features x queries
console.log(`${sums.shape.join(' x ')} on ${sums.device.id}: ${planOf(sums)?.summary}`);

/** f at query `q`, its feature `n` moved by `step`. */
function machine(q = 0, n = 0, step = 0) {
  let value = 0;
  for (let k = 0; k < points; k++) {
    let distance = 0;
    for (let i = 0; i < features; i++) {
      const moved = (zs[q * features + i] ?? 0) + (i === n ? step : 0);
      distance += Math.abs(moved - (xs[k * features + i] ?? 0));
    }
    value += (cs[k] ?? 0) * Math.exp(-distance / h);
  }
  return value;
}

const flat = await sums.toTypedArray();
for (const [q, n] of [
  [0, 0],
  [17, 3],
  [199, 4],
]) {
  const gradient = -(flat[(n ?? 0) * queries + (q ?? 0)] ?? NaN) / h; // the derivative of exp(-d / h)
  const numeric = (machine(q, n, 1e-6) - machine(q, n, -1e-6)) / 2e-6;
  console.log(`df/dz[${n}] at query ${q}: ${gradient}, by differences ${numeric}`);
  assert.ok(Math.abs(gradient - numeric) < 1e-6);
}

// Where a difference is exactly 0 it contributes 0, for every p: also for p < 1, where the power is infinite.
const one = await tensor([[1]], { dtype: 'float64', device: x.device });
const still = await weightedDifferences(one, one, one, one, { p: 0.5 });
assert.equal((await still.toTypedArray())[0], 0);
