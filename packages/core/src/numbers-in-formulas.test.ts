import { beforeAll, expect, it } from 'vitest';
import * as mercer from './index.js';

/* Which numbers are part of a kernel, so that another number compiles another: docs/adr/0024. */

const { formula } = mercer;
const { exp, mul, variable } = formula;
let x: mercer.Tensor<'float32'>;

beforeAll(async () => {
  mercer.configureJitCache({ mode: 'off' });
  x = await mercer.full([3, 2], 0.5, { device: 'cpu' });
});

const decay = (kernel: mercer.CustomKernel): mercer.KernelDescriptor =>
  mercer.kernelDescriptor({
    innerOperator: 'diff',
    innerPower: 'square',
    outerPower: 'none',
    kernel,
  });

const d = variable('d');
const ofParameter = decay(
  mercer.customKernel(exp(mul(d, variable('rate'))), { parameters: ['rate'] }),
);

it.each<[string, number, (number: number) => Promise<mercer.Tensor>]>([
  ['a number in a formula of map', 3, (n) => mercer.map(mul(variable('u'), n), { u: x })],
  [
    'a parameter of map',
    1,
    (n) => mercer.map(exp(mul(variable('u'), variable('n'))), { u: x }, { parameters: { n } }),
  ],
  ['an operand of an elementwise operation', 1, (n) => x.mul(n).exp().add(n)],
  [
    'a number in a custom kernel',
    3,
    (n) => mercer.runKernel(decay(mercer.customKernel(exp(mul(d, -n)))), x, x),
  ],
  [
    'a parameter of a custom kernel',
    1,
    (n) => mercer.runKernel(ofParameter, x, x, { parameters: { rate: -n } }),
  ],
])('%s: three values are computed by %i kernels', async (_, kernels, call) => {
  const compiles = async (): Promise<number> => (await mercer.jitCache().stats()).counters.compiles;
  const before = await compiles();
  for (const number of [2.25, 3.25, 4.25]) (await call(number)).dispose();
  expect((await compiles()) - before).toBe(kernels);
});
