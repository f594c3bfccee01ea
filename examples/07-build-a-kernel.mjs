// 7. Build a kernel. A descriptor says what is done with a pair of features, with their sum, and with the distance or product
//    that comes out; each is an immutable value, and each becomes one fused kernel. Parameters that it needs are demanded,
//    others are refused.
import assert from 'node:assert/strict';
import {
  customKernel,
  formula,
  kernelDescriptor,
  kernels,
  planOf,
  runKernel,
  tensor,
} from '@mercer/core';

const { add, div, mul, sqrt, variable } = formula;

const points = await tensor(
  Float64Array.from({ length: 60 }, (_, i) => Math.sin(7 * i)),
  { shape: [20, 3] },
);

// Ready-made. One input: each pair is computed once, and the diagonal is regularised to 1 + 0.001.
const gaussian = await runKernel(kernels.gaussian, points, {
  bandwidth: 0.8,
  regularization: 1e-3,
});
console.log('gaussian  ', planOf(gaussian)?.summary);

// From parts: a Laplacian of the norm with p = 1.5. The exponent is made of products and square roots.
const laplacePNorm = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'pow',
  outerPower: 'pow',
  kernel: 'laplace',
});
const laplacian = await runKernel(laplacePNorm, points, { p: 1.5, bandwidth: 2 });
console.log('laplacian ', planOf(laplacian)?.summary);

// A kernel of one's own: any formula of d, here of the squared distance, with its own parameters.
const [d, length] = [variable('d'), variable('length')];
const rational = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
  kernel: customKernel(div(1, sqrt(add(1, mul(d, div(1, mul(length, length)))))), {
    parameters: ['length'],
  }),
});
const own = await runKernel(rational, points, { parameters: { length: 3 } });
console.log('own       ', planOf(own)?.summary);

// The same by hand, for one pair.
const [x, y] = [4, 11];
const rows = await points.toTypedArray();
const differences = [0, 1, 2].map((k) => (rows[3 * x + k] ?? 0) - (rows[3 * y + k] ?? 0));
const sum = (power = 2) => differences.reduce((total, t) => total + Math.abs(t) ** power, 0);
const checks = [
  { name: 'gaussian', matrix: gaussian, truth: Math.exp(-sum() / (2 * 0.8 ** 2)) },
  { name: 'laplacian', matrix: laplacian, truth: Math.exp(-(sum(1.5) ** (1 / 1.5)) / 2) },
  { name: 'own', matrix: own, truth: 1 / Math.sqrt(1 + sum() / 9) },
];
for (const { name, matrix, truth } of checks) {
  const [value = NaN] = await matrix.slice(x, [y, y + 1]).toTypedArray();
  console.log(name.padEnd(10), value, 'by hand', truth);
  assert.ok(Math.abs(value - truth) < 1e-12);
  const [mirrored = NaN] = await matrix.slice(y, [x, x + 1]).toTypedArray();
  assert.equal(mirrored, value); // exactly symmetric
}
assert.equal((await gaussian.slice(5, [5, 6]).toTypedArray())[0], 1.001);

// What makes no sense is refused, in words that say what would.
const nonsense = { bandwidth: 1, gamma: 2 };
const refusal = await runKernel(kernels.gaussian, points, nonsense).then(
  () => 'computed',
  (error) => error.code,
);
assert.equal(refusal, 'INVALID_ARGUMENT');
