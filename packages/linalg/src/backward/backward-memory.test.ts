import { device, memory, type Tensor } from '@mercer/tensor';
import { expect, test } from 'vitest';
import { eigh } from '../eigh.js';
import { definite, toTensor } from '../matrices.test-support.js';
import { svd } from '../svd.js';
import { choleskyBackward } from './cholesky-backward.js';
import { eighBackward } from './eigh-backward.js';
import { inverseBackward } from './inverse-backward.js';
import { kronBackward } from './kron-backward.js';
import { kronMatvecBackward } from './kron-matvec-backward.js';
import { logdetBackward } from './logdet-backward.js';
import { lstsqBackward } from './lstsq-backward.js';
import { matmulBackward } from './matmul-backward.js';
import { matrixPowerBackward } from './matrix-power-backward.js';
import { qrBackward } from './qr-backward.js';
import { solveCholeskyBackward } from './solve-cholesky-backward.js';
import { solveLUBackward } from './solve-lu-backward.js';
import { svdBackward } from './svd-backward.js';
import { triangularSolveBackward } from './triangular-solve-backward.js';

test('backward rules leave nothing behind but their results', async () => {
  const a = await toTensor([definite(3, 1), definite(3, 2)], 'float64');
  const b = await toTensor(definite(3, 7), 'float64');
  const gradient = await toTensor([definite(3, 3), definite(3, 4)], 'float64');
  const [spectrum, factors] = [await eigh(a), await svd(a)];
  const [one, row] = [spectrum.values.slice(null, 0), b.reshape([9])];
  const vector = gradient.reshape([2, 9]);
  const product = await toTensor([definite(9, 1), definite(9, 2)], 'float64');
  const rules: Readonly<Record<string, () => Promise<Readonly<Record<string, Tensor>>>>> = {
    cholesky: () => choleskyBackward(gradient, { factor: a }),
    eigh: () => eighBackward({ values: spectrum.values, vectors: gradient }, spectrum),
    inverse: () => inverseBackward(gradient, { inverse: a }, { method: 'cholesky' }),
    kron: () => kronBackward(product, { a, b }),
    kronMatvec: () => kronMatvecBackward(vector, { a, b, x: row }),
    logdet: () => logdetBackward(one, { a }),
    lstsq: () => lstsqBackward(gradient, { a, b, x: gradient }),
    matmul: () => matmulBackward(gradient, { a, b }),
    matrixPower: () => matrixPowerBackward(gradient, { a }, 0.5),
    qr: () => qrBackward({ q: gradient, r: gradient }, { q: factors.u, r: a }),
    solveCholesky: () => solveCholeskyBackward(gradient, { a, x: gradient, b }),
    solveCholeskyByFactor: () => solveCholeskyBackward(gradient, { factor: a, x: gradient }),
    solveLU: () => solveLUBackward(gradient, { a, x: gradient, b }),
    svd: () => svdBackward({ u: gradient, s: factors.s, vh: gradient }, factors),
    triangularSolve: () => triangularSolveBackward(gradient, { a, x: gradient, b }),
  };
  const left: Record<string, number> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const before = memory().tensors;
    const results = Object.values(await rule());
    left[name] = memory().tensors - before - results.length;
    for (const t of results) t.dispose();
  }
  expect(left).toEqual(Object.fromEntries(Object.keys(rules).map((name) => [name, 0])));
  await device('cpu').synchronize();
});

test('a rule that fails leaves nothing behind', async () => {
  const a = await toTensor(definite(3, 1), 'float64');
  const wrong = { shape: [2, 3, 3] };
  const before = memory().tensors;
  const rules = [
    solveLUBackward(a, { a, x: a, b: wrong }),
    solveCholeskyBackward(a, { factor: a, x: a, b: wrong }),
    triangularSolveBackward(a, { a, x: a, b: wrong }),
  ];
  for (const result of await Promise.allSettled(rules)) expect(result.status).toBe('rejected');
  expect(memory().tensors).toBe(before);
});
