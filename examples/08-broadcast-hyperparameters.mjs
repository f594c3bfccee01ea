// 8. Hyperparameters in device memory. A parameter may be a tensor with one value for each batch entry: here one kernel launch
//    gives the matrices of seven bandwidths. The kernel reads them itself, so values that another kernel wrote are used without
//    any waiting; a prepared call takes new ones each time.
import assert from 'node:assert/strict';
import { defaultDevice, kernels, planOf, runKernel, tensor } from '@mercer/core';

const device = defaultDevice();
const rows = Float32Array.from({ length: 400 * 8 }, (_, i) => Math.sin(i * i));
const points = await tensor(rows, { shape: [400, 8], device });

const bandwidths = Float32Array.of(0.5, 1, 2, 4, 8, 16, 32);
const bandwidth = await tensor(bandwidths, { device });
const matrices = await runKernel(kernels.laplace, points, { bandwidth });
console.log(`${matrices.shape.join(' x ')} on ${device.id}: ${planOf(matrices)?.summary}`);

const [x, y] = [3, 70];
let distance = 0;
for (let k = 0; k < 8; k++) distance += Math.abs((rows[8 * x + k] ?? 0) - (rows[8 * y + k] ?? 0));
for (const [i, h] of bandwidths.entries()) {
  const [value = NaN] = await matrices.slice(i, x, [y, y + 1]).toTypedArray();
  console.log(`h = ${h}: ${value.toFixed(6)}`);
  assert.ok(Math.abs(value - Math.exp(-distance / h)) < 1e-5);
}

// Four norms at once. A p in memory works for every value; a p given as a number is built into the kernel.
const p = await tensor(Float32Array.of(0.5, 1, 1.7, 2), { device });
const prepared = await runKernel.prepare(kernels.minkowski, points, { p });
const norms = prepared(points); // synchronous: it only enqueues
console.log(`norms ${norms.shape.join(' x ')}`);
const doubled = await tensor(Float32Array.of(1, 2, 3.4, 4), { device });
prepared(points, { p: doubled, out: norms }); // other exponents, the same kernel
const [last = NaN] = await norms.slice(1, x, [y, y + 1]).toTypedArray();
let squares = 0;
for (let k = 0; k < 8; k++) squares += ((rows[8 * x + k] ?? 0) - (rows[8 * y + k] ?? 0)) ** 2;
console.log(`p = 2: ${last}, by hand ${Math.sqrt(squares)}`);
assert.ok(Math.abs(last - Math.sqrt(squares)) < 1e-5);
