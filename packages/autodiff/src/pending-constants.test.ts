import { concat, full, stack, tile, where, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, it } from 'vitest';
import { centralDifferences, drawn, expectClose, type Scalar } from '../test/differences.mjs';
import { grad, jvp } from './index.js';

type Call = (x: Tensor, constant: Tensor) => unknown;
type Constant = (from: Tensor) => unknown;

const CALLS: readonly (readonly [name: string, call: Call])[] = [
  ['mul', (x, c) => x.mul(c)],
  ['a chain of its own', (x, c) => x.square().sub(c).exp()],
  ['stack', (x, c) => stack([x, c])],
  ['concat', (x, c) => concat([c, x.mul(2)])],
  ['where', (x, c) => where(c.gt(0), x.square(), c)],
  ['a sum of a product', (x, c) => x.mul(c).sum(0)],
  ['copies of both', (x, c) => stack([tile(x, [1, 2]), tile(c, [1, 2])])],
];

const CONSTANTS: readonly (readonly [name: string, make: Constant])[] = [
  ['a chain', (d) => d.mul(2)],
  ['copies of a chain', (d) => tile(d.mul(2), [1, 1])],
  ['running sums', (d) => d.cumSum(1)],
];

let x: Tensor;
let d: Tensor;
beforeAll(async () => {
  x = await drawn([2, 2], [-1, 1], 1);
  d = await drawn([2, 2], [-1, 1], 2);
});

const numbersOf = async (one: Tensor): Promise<readonly number[]> =>
  Array.from(await one.toTypedArray(), Number);

describe('a constant that is not launched yet', () => {
  describe.each(CONSTANTS)('%s', (_, make) => {
    it.each(CALLS)('%s', async (__, call) => {
      const f: Scalar = async (a) =>
        ((await call(a, make(d) as Tensor)) as Tensor).mul(0.7).square().sum();
      const slope: Scalar = async (a) => {
        const first = await grad(f)(a);
        return first.mul(d.sin()).sum();
      };
      expectClose(await numbersOf(await grad(f)(x)), await centralDifferences(f, [x], 0), 1e-7);
      const second = await grad(slope)(x);
      expectClose(await numbersOf(second), await centralDifferences(slope, [x], 0), 1e-7);
      const { tangent } = await jvp(slope)([x], [d]);
      const along = (await numbersOf(await second.mul(d))).reduce((a, b) => a + b, 0);
      expectClose([await tangent.item()], [along], 1e-10);
    });
  });
});

describe('what is written or disposed behind a call', () => {
  const along = async (f: Scalar): Promise<readonly number[]> => {
    const change = await full([2, 2], 1, { dtype: 'float64', device: 'cpu' });
    return numbersOf((await jvp(f)([x], [change])).tangent);
  };
  const backwards = async (f: Scalar): Promise<readonly number[]> => numbersOf(await grad(f)(x));

  describe.each([
    ['grad', backwards],
    ['jvp', along],
  ])('%s', (name, derivative) => {
    /** The derivative of `sum((x c)^2)` with `c = factor d`, from its formula. */
    const expected = async (factor: number): Promise<readonly number[]> => {
      const constants = await numbersOf(d);
      const all = (await numbersOf(x)).map(
        (one, k) => 2 * one * (factor * (constants[k] ?? NaN)) ** 2,
      );
      return name === 'grad' ? all : [all.reduce((a, b) => a + b, 0)];
    };

    it('what a constant is computed from, before an elementwise call', async () => {
      const from = await d.clone();
      const found = await derivative((a) => {
        const constant = from.mul(2);
        void from.fill(0);
        return a.mul(constant).square().sum();
      });
      expectClose(found, await expected(2), 1e-12);
    });

    it.each([
      ['before', true],
      ['after', false],
    ])('what a constant is computed from, %s another call', async (_, isBefore) => {
      const from = await d.clone();
      const found = await derivative((a) => {
        const constant = from.mul(2);
        if (isBefore) void from.fill(0);
        const both = stack([a, constant]);
        if (!isBefore) void from.fill(0);
        return both.prod(0).square().sum();
      });
      expectClose(found, await expected(2), 1e-12);
    });

    it('a tensor that is disposed while the call is under way', async () => {
      const constant = await d.clone();
      const found = await derivative((a) => {
        const both = stack([a, constant]).prod(0);
        constant.dispose();
        return both.square().sum();
      });
      expectClose(found, await expected(1), 1e-12);
    });
  });
});
