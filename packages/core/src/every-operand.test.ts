import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { drawn, expectClose } from '../../autodiff/test/differences.mjs';
import { functionNamed, FUNCTIONS } from './every-operation.test-support.js';
import { grad, isTensor, type Tensor } from './index.js';

beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

/** Functions of host data, which refuse tensors. */
const OF_DATA = ['tensor'];

/** The same tree with something else in the place of each tensor. */
function replaced(one: unknown, replace: (x: Tensor) => unknown): unknown {
  if (isTensor(one)) return replace(one);
  if (Array.isArray(one)) return one.map((each) => replaced(each, replace));
  if (typeof one !== 'object' || one === null || Object.getPrototypeOf(one) !== Object.prototype)
    return one;
  return Object.fromEntries(
    Object.entries(one).map(([name, each]) => [name, replaced(each, replace)]),
  );
}

/** The elements of a result, by their names; what is no tensor as it is. */
async function elementsOf(result: unknown): Promise<unknown> {
  const found: unknown = await result;
  const all = isTensor(found)
    ? { result: Promise.resolve(found) }
    : (found as Readonly<Record<string, unknown>>);
  const each = Object.entries(all).map(async ([name, one]) => {
    const x = await one;
    return isTensor(x) ? [name, x.shape, await x.toTypedArray()] : [name, x];
  });
  return Promise.all(each);
}

const numbers = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

/** A result of one call that is not there yet, and one that is not launched. */
const LATER: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a copy under way': (x) => x.clone(),
  'an elementwise result': (x) => (x.dtype === 'bool' ? x.logicalNot().logicalNot() : x.mul(1)),
};

describe('every function takes results that are not awaited', () => {
  it.each(Object.entries(LATER))('%s', async (_, later) => {
    const x = await drawn([3, 3], [0.2, 0.8], 3);
    for (const [name, argsOf] of Object.entries(FUNCTIONS)) {
      if (OF_DATA.includes(name)) continue;
      const args = await Promise.all((await argsOf(x)).map(async (one) => await one));
      const given = args.map((one) => replaced(one, later));
      const call = functionNamed(name);
      expect(await elementsOf(call(...given)), name).toEqual(await elementsOf(call(...args)));
    }
  });

  it('and no promise of somebody else', async () => {
    const x = await drawn([3, 3], [0.2, 0.8], 3);
    for (const name of ['matmul', 'cholesky', 'cdist', 'gatherRows', 'exp']) {
      const args = (await FUNCTIONS[name]?.(x)) ?? [];
      const foreign = args.map((one) => (isTensor(one) ? Promise.resolve(one) : one));
      await expect((async () => functionNamed(name)(...foreign))(), name).rejects.toThrow(/await/);
    }
  });

  it('fails as what it waits for, and once', async () => {
    const x = await drawn([3, 3], [0.2, 0.8], 3);
    const wrong = x.matmul(x.reshape([9, 1]));
    await expect(functionNamed('cholesky')(wrong)).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
    });
  });

  it('whose values are traced: no gradient is lost', async () => {
    const x = await drawn([3, 3], [0.2, 0.8], 3);
    const product = functionNamed('matmul');
    const late = async (v: Tensor): Promise<Tensor> => {
      const pending = (async () => v.mul(2))(); // no result of ours
      return product(await pending, product(v, v)) as Promise<Tensor>;
    };
    const loss = async (v: Tensor): Promise<Tensor> => (await late(v)).sum();
    const direct = async (v: Tensor): Promise<Tensor> => {
      const square = (await product(v, v)) as Tensor;
      return ((await product(await v.mul(2), square)) as Tensor).sum();
    };
    const [found, wanted] = [await grad(loss)(x), await grad(direct)(x)];
    expectClose(await numbers(found), await numbers(wanted), 1e-13);
  });
});
