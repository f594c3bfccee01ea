import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { device, startProfile } from '@mercer/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import { gradient, jointReduction, lazyI, lazyJ, type LazyTensor } from './index.js';

const run = promisify(execFile);
const executor = process.env['MERCER_CPU'];
afterEach(() => {
  if (executor === undefined) delete process.env['MERCER_CPU'];
  else process.env['MERCER_CPU'] = executor;
});

const X = [0.25, 0.5, -1];
const Y = [1, -0.5, 0.75, 2];
const column = (values: readonly number[]): number[][] => values.map((value) => [value]);
const options = { device: device('cpu') } as const;
/** Points whose further components are 0: formulas of other dims are other formulas. */
const rows = (values: readonly number[], dim: number): number[][] =>
  values.map((value) => [value, ...Array<number>(dim - 1).fill(0)]);
const gaussian = (h: number, dim: number): LazyTensor =>
  lazyI(rows(X, dim))
    .sqdist(lazyJ(rows(Y, dim)))
    .div(-h)
    .exp();
const weight = (h: number, x: number, y: number): number => Math.exp((x - y) ** 2 / -h);
const sums = (of: (x: number, y: number) => number): number[] =>
  X.map((x) => Y.reduce((sum, y) => sum + of(x, y), 0));
/** More than have kernels of their own. */
const WIDTHS = [0.5, 0.75, 1.25, 1.5, 1.75, 2.25, 0.5, 3, 0.75];

describe('numbers in a formula that change from call to call', () => {
  it.each([
    ['compiled', 1],
    ['interpreted', 2],
  ])('give what they say, %s', async (how, dim) => {
    process.env['MERCER_CPU'] = how;
    const profile = startProfile();
    for (const dtype of ['float64', 'float32'] as const) {
      const close = (found: number[][], expected: number[]): void => {
        for (const [n, value] of expected.entries()) {
          expect(Math.abs(found[n]![0]! / value - 1)).toBeLessThan(
            dtype === 'float64' ? 1e-14 : 1e-6,
          );
        }
      };
      for (const h of WIDTHS) {
        const kernel = gaussian(h, dim);
        const call = { ...options, dtype };
        close(
          await (await kernel.sum('j', call)).toNested(),
          sums((x, y) => weight(h, x, y)),
        );
        const joint = jointReduction({
          sum: kernel.mul(h).reduction('Sum', 'j'),
          max: kernel.add(h).reduction('Max', 'j'),
        });
        const { sum, max } = await joint.call([], call);
        close(
          await sum.toNested(),
          sums((x, y) => h * weight(h, x, y)),
        );
        close(
          await max.toNested(),
          X.map((x) => h + Math.max(...Y.map((y) => weight(h, x, y)))),
        );
      }
    }
    const ran = (await profile.stop()).map(({ executor: by }) => by);
    expect(new Set(ran)).toEqual(new Set([how]));
  });

  it('have gradients', async () => {
    for (const h of WIDTHS) {
      const x = lazyI(column(X));
      const reduction = x
        .sqdist(lazyJ(column(Y)))
        .div(-h)
        .exp()
        .reduction('Sum', 'j');
      const found = await (await gradient(reduction, x, [[1], [1], [1]])).toNested<number[][]>();
      const expected = sums((one, y) => (-2 / h) * (one - y) * weight(h, one, y));
      for (const [n, value] of expected.entries()) expect(found[n]![0]).toBeCloseTo(value, 5);
    }
  });

  it('have four kernels of their own and share one from then on', async () => {
    const lazy = new URL('../dist/index.js', import.meta.url).href;
    const script = `
      const { lazyI, lazyJ } = await import(${JSON.stringify(lazy)});
      const [x, y] = [[[0.5], [1]], [[2], [0.25]]];
      for (const h of [1, 2, 3, 4, 5, 6, 7, 8, 3]) {
        await lazyI(x).sqdist(lazyJ(y)).div(-h / 16).exp().sum('j');
        console.error('called');
      }`;
    const { stderr } = await run(process.execPath, ['--input-type=module', '-e', script], {
      env: {
        ...process.env,
        MERCER_DEVICE: 'cpu',
        MERCER_CPU: 'compiled',
        MERCER_DEBUG: 'jit',
        MERCER_CACHE: 'off',
      },
    });
    const misses = stderr.split('called').map((part) => part.split('mercer jit: miss').length - 1);
    expect(misses).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
  });

  it('are told apart from numbers of other formulas', async () => {
    for (const h of WIDTHS) {
      const d = lazyI(column(X)).sub(lazyJ(column(Y)));
      const [plus, minus] = [d.mul(h).sin(), d.mul(h).cos()];
      const found = await (
        await plus.sum('j', { ...options, dtype: 'float64' })
      ).toNested<number[][]>();
      const other = await (
        await minus.sum('j', { ...options, dtype: 'float64' })
      ).toNested<number[][]>();
      sums((x, y) => Math.sin(h * (x - y))).forEach((value, n) => {
        expect(found[n]![0]).toBeCloseTo(value, 12);
      });
      sums((x, y) => Math.cos(h * (x - y))).forEach((value, n) => {
        expect(other[n]![0]).toBeCloseTo(value, 12);
      });
    }
  });
});
