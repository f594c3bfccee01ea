import { memory, tensor, type Tensor } from '@mercer/tensor';
import { differentiable, type Value } from '@mercer/tensor/operation';
import { describe, expect, it } from 'vitest';
import { grad, jvp, valueAndGrad, vmap } from './index.js';
import { intercepted, listened, owned, type InterceptedCall } from './transform.js';

const where = { device: 'cpu' } as const;
const numbers = async (...data: readonly number[]): Promise<Tensor> => tensor([...data], where);

/** A function that traces compose, as layers are. */
const affine = differentiable('affine', (x: Tensor, w: Tensor): Value => x.mul(w).add(1), {
  composedOf: (x: Tensor, w: Tensor) => x.mul(w).add(1),
  isTransparent: true,
}) as (x: Value, w: Value) => Value;

describe('intercepted', () => {
  it('sees operations on arguments with their marks, and layers as one where it asks for them', async () => {
    const run = async (whole?: readonly string[]): Promise<readonly unknown[]> => {
      const seen: unknown[] = [];
      const computes = ({ name, marks, args, call }: InterceptedCall): unknown => {
        seen.push([name, marks[0], marks[1]]);
        return call(...args);
      };
      const f = async ({ w, v }: { w: Tensor; v: readonly Tensor[] }, x: Tensor) =>
        affine(x, w.view())
          .mul(v[0] as Tensor)
          .sum();
      const by = { computes, whole, carries: ['view'] };
      const marked = ({ path, argument }: { path: string; argument: number }): string | null =>
        argument === 0 ? path : null;
      const value = await intercepted(
        'seen',
        f,
        by,
        marked,
      )({ w: await numbers(1, 2), v: [await numbers(3, 4)] }, await numbers(5, 6));
      expect(await value.item()).toBe(6 * 3 + 13 * 4);
      return seen;
    };
    expect(await run(['affine'])).toEqual([
      ['view', '.w', undefined],
      ['affine', undefined, '.w'],
      ['mul', undefined, '.v[0]'],
      ['sum', undefined, undefined],
    ]);
    expect((await run()).map((one) => (one as readonly unknown[])[0])).toEqual([
      'view',
      'mul',
      'add',
      'mul',
      'sum',
    ]);
  });

  it('puts something else in the place of operations, which is differentiated and mapped', async () => {
    const computes = ({ name, args, call }: InterceptedCall): unknown =>
      name === 'exp' ? (args[0] as Tensor).square() : call(...args);
    const f = intercepted(
      'squares',
      (x: Tensor) => x.exp().sum(),
      { computes },
      () => undefined,
    );
    const x = await numbers(1, 2, 3);
    expect(await (await f(x)).item()).toBe(14);
    expect(await (await grad(f)(x)).toNested()).toEqual([2, 4, 6]);
    const second = grad(async (v: Tensor) => (await grad(f)(v)).square().sum());
    expect(await (await second(x)).toNested()).toEqual([8, 16, 24]);
    expect(await (await vmap(f)(x.reshape([3, 1]))).toNested()).toEqual([1, 4, 9]);
    // derivatives within see the operations too
    const inner = intercepted(
      'squares',
      grad((v: Tensor) => v.exp().sum()),
      { computes },
      () => undefined,
    );
    // the rule of exp reads what exp gave
    expect(await (await inner(x)).toNested()).toEqual([1, 4, 9]);
  });

  it('refuses what it computed once it has ended', async () => {
    let kept: Tensor | undefined;
    const f = intercepted(
      'kept',
      async (x: Tensor) => {
        kept = x;
        return x.sum();
      },
      { computes: ({ args, call }) => call(...args) },
      () => undefined,
    );
    await f(await numbers(1));
    await expect((async () => kept?.exp())()).rejects.toMatchObject({ code: 'ESCAPED' });
  });
});

describe('listened', () => {
  it('tells the cotangent of a value, and changes nothing', async () => {
    const x = await numbers(1, 2);
    const by = await tensor(0, where);
    const heard: Tensor[] = [];
    const f = async (w: Tensor, token: Tensor): Promise<Tensor> => {
      // one that is not launched, and one that is
      const first = listened(w.mul(3), token, (one) => heard.push(one));
      const second = listened(await first.square(), token, (one) => heard.push(one));
      return second.mul(0.5).sum();
    };
    const { value, grad: gradient } = await valueAndGrad(f, { argnums: [0, 1], allowUnused: true })(
      x,
      by,
    );
    expect(await value.item()).toBe(22.5);
    expect(await gradient[0].toNested()).toEqual([9, 18]);
    expect(await gradient[1].item()).toBe(0);
    expect(await Promise.all(heard.map(async (one) => one.toNested()))).toEqual([
      [0.5, 0.5],
      [3, 6],
    ]);
    // where the value itself is a constant
    const constant = async (token: Tensor): Promise<Tensor> =>
      listened(x.mul(2), token, (one) => heard.push(one))
        .square()
        .sum();
    await grad(constant, { allowUnused: true })(by);
    expect(await heard[2]?.toNested()).toEqual([4, 8]);
    const { tangent } = await jvp((w: Tensor) => listened(w.square(), by, () => undefined))(
      [x],
      [await numbers(1, 1)],
    );
    expect(await tangent.toNested()).toEqual([2, 4]);
  });

  it('tells nothing where the derivative is 0', async () => {
    const by = await tensor(0, where);
    const heard: Tensor[] = [];
    const f = async (w: Tensor, token: Tensor): Promise<Tensor> => {
      await listened(w.exp(), token, (one) => heard.push(one));
      return w.sum();
    };
    await valueAndGrad(f, { argnums: [0, 1], allowUnused: true })(await numbers(1), by);
    expect(heard).toEqual([]);
  });
});

describe('owned', () => {
  it('disposes what lies between, and leaves traced calls to their trace', async () => {
    const x = await numbers(1, 2);
    const f = owned('f', async (v: Tensor) => ({ y: (await (await v.exp()).log()).sum() }));
    const before = memory().tensors;
    const { y } = await f(x);
    expect(memory().tensors).toBe(before + 1);
    expect(await y.item()).toBeCloseTo(3, 5);
    expect(await (await grad(async (v: Tensor) => (await f(v)).y)(x)).toNested()).toEqual([1, 1]);
    const fails = owned('f', async (v: Tensor) => {
      await v.exp();
      throw new Error('mine');
    });
    const held = memory().tensors;
    await expect(fails(x)).rejects.toThrow('mine');
    expect(memory().tensors).toBe(held);
  });
});
