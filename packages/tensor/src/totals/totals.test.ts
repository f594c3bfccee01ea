import { abs, mul, variable } from '@mercer/formula';
import { expect, it } from 'vitest';
import { tensor, zeros } from '../create.js';
import { device } from '../devices.js';
import { totals } from './totals.js';
import { totalsSuite } from './totals-suite.test-support.js';

totalsSuite('the CPU', () => device('cpu'));

const x = variable('x');
const WHAT = {
  terms: { sizes: abs(x), squares: mul(x, x) },
  results: { sizes: variable('sizes'), squares: variable('squares') },
};

it('totals on the CPU hold the terms of a part of the elements at a time', async () => {
  const cpu = device('cpu');
  using large = await zeros([2 ** 23], { device: cpu, dtype: 'float32' });
  await large.fill(2);
  const before = Math.max(cpu.memory().peakBytes, cpu.memory().liveBytes);
  const found = await totals(WHAT, [large]);
  expect(await found['sizes']?.item()).toBe(2 ** 24);
  expect(await found['squares']?.item()).toBe(2 ** 25);
  expect(cpu.memory().peakBytes - before).toBeLessThan(2 * 8 * 2 ** 20 + 2 ** 16);
});

it('totals are whole where tensors are cut, however they lie', async () => {
  const size = 2 ** 21 + 6;
  // whole numbers, whose sums are exact
  const values = Float64Array.from({ length: size }, (_, i) => ((i * 7919) % 13) - 6);
  const sum = (f: (k: number) => boolean, g: (y: number) => number): number =>
    values.reduce((all, y, k) => (f(k) ? all + g(y) : all), 0);
  using all = await tensor(values, { device: 'cpu' });
  const columns = (size / 2) | 0;
  using wide = all.reshape([2, columns]);
  using tall = wide.transpose();
  using odd = all.slice([1, null, 2]);
  using backwards = all.slice([null, null, -1]);
  using cube = all.reshape([2, 1, columns]).permute([1, 2, 0]);
  const isOdd = (k: number): boolean => k % 2 === 1;
  const every = (): boolean => true;
  for (const [given, of] of [
    [[wide], [every]],
    [[tall], [every]],
    [[odd], [isOdd]],
    [
      [backwards, cube],
      [every, every],
    ],
    [
      [odd, wide, odd, tall],
      [isOdd, every, isOdd, every],
    ],
  ] as const) {
    const found = await totals(WHAT, given);
    const wanted = (g: (y: number) => number): number => of.reduce((n, f) => n + sum(f, g), 0);
    expect(await found['sizes']?.item()).toBe(wanted(Math.abs));
    expect(await found['squares']?.item()).toBe(wanted((y) => y * y));
  }
});
