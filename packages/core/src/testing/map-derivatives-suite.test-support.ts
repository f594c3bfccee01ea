import { grad, hessian, jvp } from '@mercer/autodiff';
import {
  abs,
  add,
  call,
  div,
  exp,
  gt,
  log,
  lt,
  max,
  min,
  mul,
  pow,
  select,
  sqrt,
  sub,
  tanh,
  variable,
  variables,
  type Expr,
} from '@mercer/formula';
import { lgamma, map, maximum, minimum, tensor, type Tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  drawnOn,
  expectClose,
  expectGradient,
  type Scalar,
} from '../../../autodiff/test/differences.mjs';
import { weighedOn } from './expect-gradients.test-support.js';

/** Derivatives through `map`. */
export function describeMapDerivatives(device: () => Device): void {
  const drawn = drawnOn(device);

  const [x, y, scale] = [variable('x'), variable('y'), variable('scale')];
  const [row, column] = [variable('row'), variable('column')];

  const weighed = weighedOn(device);

  /** First derivatives backwards and forwards, and the gradient of a weighted sum of gradients. */
  async function expectRules(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
    const argnums = inputs.map((_, k) => k);
    const found = await grad(f, { argnums })(...inputs);
    const changes = await Promise.all(inputs.map(({ shape }, k) => drawn(shape, [-1, 1], 10 + k)));
    let along = 0;
    for (const [by, one] of found.entries()) {
      expect(one.shape).toEqual(inputs[by]?.shape);
      await expectGradient(await one.toTypedArray(), f, inputs, by, 1e-6);
      along += Number(await one.mul(changes[by] as never).sum().item()); // prettier-ignore
    }
    const { tangent } = await jvp(f)([...inputs], changes);
    expectClose([await tangent.item()], [along], 1e-10);
    const slopes: Scalar = async (...given) => {
      const all = await grad(f, { argnums })(...given);
      const parts = await Promise.all(all.map(async (one, k) => weighed(one, 20 + k)));
      return parts.reduce((sum, one) => sum.add(one) as unknown as Tensor);
    };
    const seconds = await grad(slopes, { argnums })(...inputs);
    for (const [by, one] of seconds.entries()) {
      await expectGradient(await one.toTypedArray(), slopes, inputs, by, 1e-6);
    }
  }

  const SAME = [[2, 3], [2, 3]] as const; // prettier-ignore

  describe('map', () => {
    it.each<readonly [string, Expr, readonly (readonly number[])[]]>([
      ['a product', mul(mul(x, x), y), SAME],
      ['a quotient and a power', div(pow(x, 2.5), add(y, 1)), SAME],
      ['functions', add(mul(tanh(x), exp(y)), call('erf', [mul(x, y)])), SAME],
      ['a row and a column', mul(exp(mul(x, y)), x), [[3], [2, 1]]],
      ['a number and a matrix', mul(log(x), y), [[], [2, 3]]],
      ['a branch', select(lt(x, y), mul(x, y), sqrt(add(x, y))), SAME],
      ['lgamma', mul(call('lgamma', [x]), y), SAME],
      ['an input that is not read', exp(x), [[3], [2, 3]]],
      ['what is linear', sub(mul(3, x), y), [[3], [2, 3]]],
      ['an empty axis', mul(x, mul(y, y)), [[0, 3], [3]]],
    ])('of %s', async (_, formula, shapes) => {
      // prettier-ignore
      const inputs = await Promise.all(shapes.map((shape, k) => drawn(shape, [0.4, 1.6], 1 + k)));
      const f: Scalar = async (a, b = inputs[1] as Tensor) =>
        weighed(await map(formula, { x: a, y: b }));
      await expectRules(f, variables(formula).includes('y') ? inputs : inputs.slice(0, 1));
    });

    it('with parameters and indices', async () => {
      const lower = select(lt(row, column), 0, mul(scale, mul(x, x)));
      const options = { parameters: { scale: 1.7 }, indices: { row: -2, column: -1 } };
      const f: Scalar = async (a, b) => weighed(await map(lower, { x: a, y: b }, options));
      const g: Scalar = async (a) => f(a, await drawn([3, 3], [0, 1]));
      await expectRules(g, [await drawn([3], [-1, 1], 2)]);
    });

    it('of several results, of which one is a comparison and one is not used', async () => {
      const formulas = { a: mul(x, y), b: exp(mul(x, x)), is: gt(x, y), unused: log(x) };
      const f: Scalar = async (one, two) => {
        const { a, b, is } = await map(formulas, { x: one, y: two });
        return (await weighed(a)).add(await weighed(b.mul(is) as unknown as Tensor));
      };
      await expectRules(f, [await drawn([2, 3], [0.5, 1], 2), await drawn([3], [0.5, 1], 3)]);
    });

    it('in another dtype, and of as many inputs as there may be', async () => {
      const names = Array.from({ length: 16 }, (_, k) => `v${k}`);
      const product = names.map(variable).reduce((a, b) => mul(a, b));
      const f: Scalar = async (a) => {
        const inputs = await Promise.all(
          names.map(async (name, k) => [name, await a.mul(1 + k / 16)]),
        );
        return weighed(await map(product, Object.fromEntries(inputs) as never));
      };
      await expectRules(f, [await drawn([3], [0.8, 1.2], 2)]);
      const narrow = await grad(async (a: Tensor) =>
        (await map(mul(x, x), { x: a }, { dtype: 'float16' })).sum(),
      )(await tensor([1.5, 2], { device: device() }));
      expect(narrow.dtype).toBe('float32');
      expect(await narrow.toNested()).toEqual([3, 4]);
    });

    it('has the slopes of the elementwise operations at kinks, to the second order', async () => {
      const [a, b] = [await drawn([1], [0, 0]), await drawn([1], [0, 0])];
      const pairs: readonly (readonly [Expr, (p: Tensor, q: Tensor) => PromiseLike<Tensor>])[] = [
        [max(x, y), (p, q) => maximum(p, q)],
        [min(x, y), (p, q) => minimum(p, q)],
        [mul(max(x, y), max(x, y)), (p, q) => maximum(p, q).square()],
        [add(abs(x), y), (p, q) => p.abs().add(q)],
        [add(sqrt(x), y), (p, q) => p.sqrt().add(q)],
      ];
      for (const [formula, method] of pairs) {
        const ofMap: Scalar = async (p, q) => (await map(formula, { x: p, y: q })).sum();
        const ofMethod: Scalar = async (p, q) => (await method(p, q)).sum();
        for (const by of [0, 1]) {
          const one = await grad(ofMap, { argnums: by })(a, b);
          const other = await grad(ofMethod, { argnums: by })(a, b);
          expect(await one.toNested()).toEqual(await other.toNested());
        }
      }
      const whole = hessian(async (p: Tensor) => (await map(mul(max(x, 0), x), { x: p })).sum());
      expect(await (await whole(a)).toNested()).toEqual([[1]]);
    });

    it('of float32 agrees with float64', async () => {
      const formula = div(exp(mul(x, x)), add(1, x));
      const f: Scalar = async (p) => weighed(await map(formula, { x: p }));
      const second: Scalar = async (p) => (await grad(f)(p)).square().sum();
      const wide = await drawn([5], [0.1, 1], 2);
      for (const one of [f, second]) {
        const found = await grad(one)(await wide.cast('float32'));
        expect(found.dtype).toBe('float32');
        const exact = Float64Array.from(await (await grad(one)(wide)).toTypedArray(), Number);
        expectClose(await found.toTypedArray(), exact, 1e-3);
      }
    });
  });

  it('lgamma has derivatives of every order', async () => {
    const f: Scalar = async (p) => weighed(await lgamma(p).mul(p));
    await expectRules(f, [await drawn([2, 3], [0.4, 3], 3)]);
    // psi(1) is -0.5772, and its derivative pi^2 / 6
    const one = await drawn([], [1, 1]);
    const psi = grad(async (p: Tensor) => lgamma(p));
    expectClose([await (await psi(one)).item()], [-0.5772156649015329], 1e-14);
    expectClose([await (await grad(psi)(one)).item()], [Math.PI ** 2 / 6], 1e-14);
  });
}
