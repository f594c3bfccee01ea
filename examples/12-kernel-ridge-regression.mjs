// 12. Kernel ridge regression: the kernel matrix of the data, one Cholesky solve, predictions by a product; and the leave-one-out
// errors of many regularisations from one eigendecomposition.
import assert from 'node:assert/strict';
import { eigh, kernels, matmul, runKernel, solveCholesky, tensor } from '@mercer/core';

const N = 200;
const truth = (x = 0) => Math.sin(3 * x) + 0.5 * x;
const xs = Float64Array.from({ length: N }, (_, i) => (4 * i) / N - 2);
// Noise that is the same in every run.
const noise = (i = 0) => 0.1 * Math.sin(12.9898 * i * i);
const ys = xs.map((x, i) => truth(x) + noise(i));

const data = await tensor(xs, { shape: [N, 1], device: 'cpu' });
const targets = await tensor(ys, { shape: [N, 1], device: 'cpu' });
const kernel = { bandwidth: 1 };

// (K + r I) alpha = y: the kernel is 1 on the diagonal, so that regularization makes it 1 + r.
const regularization = 0.05;
const k = await runKernel(kernels.exponential, data, { ...kernel, regularization });
const { x: alpha } = await solveCholesky(k, targets, { checkErrors: true });

const points = Float64Array.of(-1.5, -0.25, 0.6, 1.7);
const queries = await tensor(points, { shape: [points.length, 1], device: 'cpu' });
const predictions = await matmul(
  await runKernel(kernels.exponential, queries, data, kernel),
  alpha,
);
for (const [i, value] of (await predictions.toTypedArray()).entries()) {
  const x = points[i] ?? 0;
  console.log(`f(${x}) = ${value.toFixed(3)}, truth ${truth(x).toFixed(3)}`);
  assert.ok(Math.abs(value - truth(x)) < 0.05);
}

// One eigendecomposition K = V diag(w) V^T gives every regularisation: (K + r I)^-1 = V diag(1 / (w + r)) V^T. The error of
// leaving point i out is alpha_i / ((K + r I)^-1)_ii.
const plain = await runKernel(kernels.exponential, data, kernel);
const { values, vectors } = await eigh(plain, { checkErrors: true });
const projected = await (await matmul(vectors, targets, { transposeA: true })).toTypedArray();
const [w, v] = [await values.toTypedArray(), await vectors.toTypedArray()];
const errors = [];
for (const r of [1e-3, 1e-2, 1e-1, 1, 10]) {
  let sum = 0;
  for (let i = 0; i < N; i++) {
    let [coefficient, diagonal] = [0, 0];
    for (let j = 0; j < N; j++) {
      const entry = v[i * N + j] ?? 0;
      const inverse = 1 / ((w[j] ?? 0) + r);
      coefficient += entry * inverse * (projected[j] ?? 0);
      diagonal += entry * entry * inverse;
    }
    sum += (coefficient / diagonal) ** 2;
  }
  errors.push(Math.sqrt(sum / N));
  console.log(`r = ${r}: leave-one-out error ${Math.sqrt(sum / N).toFixed(4)}`);
}
assert.equal(Math.min(...errors), errors[2]); // neither too little nor too much
