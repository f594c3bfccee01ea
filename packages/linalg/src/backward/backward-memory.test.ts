import { device, memory } from '@mercer/tensor';
import { expect, test } from 'vitest';
import { definite, toTensor } from '../matrices.test-support.js';
import { everyRule } from './every-rule.test-support.js';
import { solveCholeskyBackward } from './solve-cholesky-backward.js';
import { solveLUBackward } from './solve-lu-backward.js';
import { solveTriangularBackward } from './solve-triangular-backward.js';

test('backward rules leave nothing behind but their results', async () => {
  const rules = await everyRule('float64', device('cpu'));
  const left: Record<string, number> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const before = memory().tensors;
    const results = Object.values(await rule());
    // the collector may find tensors of the set-up meanwhile
    left[name] = Math.max(0, memory().tensors - before - results.length);
    for (const t of results) t.dispose();
  }
  expect(left).toEqual(Object.fromEntries(Object.keys(rules).map((name) => [name, 0])));
});

test('a rule that fails leaves nothing behind', async () => {
  const a = await toTensor(definite(3, 1), 'float64');
  const wrong = { shape: [2, 3, 3] };
  const before = memory().tensors;
  const rules = [
    solveLUBackward(a, { a, x: a, b: wrong }),
    solveCholeskyBackward(a, { factor: a, x: a, b: wrong }),
    solveTriangularBackward(a, { a, x: a, b: wrong }),
  ];
  for (const result of await Promise.allSettled(rules)) expect(result.status).toBe('rejected');
  expect(memory().tensors).toBeLessThanOrEqual(before);
});
