import { device, isTensor, tensor, zeros, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { grad, valueAndGrad, vjp } from './index.js';
import { codeOf } from '../test/code-of.mjs';

const cpu = { device: 'cpu' } as const;

let x: Tensor<'float64'>;

beforeAll(async () => {
  x = await tensor(Float64Array.of(1, 2, 3), cpu);
});

describe('hasAux', () => {
  const f = async (v: Tensor) => {
    const square = await v.square();
    const aux = { square, rest: [v.mul(2), 'text', 3, null] as const, same: v, own: x };
    return [square.sum(), aux] as const;
  };

  it('gives what the function gives beside its value, as plain tensors', async () => {
    const { value, grad: found, aux } = await valueAndGrad(f, { hasAux: true })(x);
    expect(await value.item()).toBe(14);
    expect(await found.toNested()).toEqual([2, 4, 6]);
    expect([aux.square, aux.rest[0], aux.same].every(isTensor)).toBe(true);
    expect(await aux.square.toNested()).toEqual([1, 4, 9]);
    expect(await aux.rest[0].toNested()).toEqual([2, 4, 6]);
    expect(aux.rest.slice(1)).toEqual(['text', 3, null]);
    expect(aux.own).toBe(x);
    aux.same.dispose();
    expect(await x.toNested()).toEqual([1, 2, 3]);
    const only = await grad(f, { hasAux: true })(x);
    expect(Object.keys(only)).toEqual(['grad', 'aux']);
    expect(await only.grad.toNested()).toEqual([2, 4, 6]);
  });

  it('of vjp may be disposed before pull', async () => {
    const { value, pull, aux, dispose } = await vjp(
      async (v: Tensor) => {
        const weights = await v.softmax();
        return [{ weights, list: [v.square()] }, weights] as const;
      },
      { hasAux: true },
    )(x);
    aux.dispose();
    value.weights.dispose();
    const found = await pull({ weights: await zeros([3], cpu), list: [x] });
    expect(await found.toNested()).toEqual([2, 8, 18]);
    dispose();
  });

  it('inside another derivative belongs to that', async () => {
    // the gradient of x^3 beside x^3: their sum has the slope 6 x + 3 x^2
    const outer = async (v: Tensor): Promise<Tensor> => {
      const { grad: slope, aux } = await grad(
        async (w: Tensor) => {
          const cubes = await w.pow(3);
          return [cubes.sum(), cubes] as const;
        },
        { hasAux: true },
      )(v);
      return slope.add(aux).sum();
    };
    expect(await (await grad(outer)(x)).toNested()).toEqual([9, 24, 45]);
  });

  it('refuses what is no pair, and an option that is no boolean', async () => {
    const wrong = grad((async (v: Tensor) => v.sum()) as never, { hasAux: true });
    await expect((wrong as (v: Tensor) => Promise<unknown>)(x)).rejects.toThrow(
      'grad: with hasAux the function gave a Traced. Return [value, aux].',
    );
    expect(await codeOf(async () => vjp(f, { hasAux: 1 as never }))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(async () => vjp(f, { aux: true } as never))).toBe('INVALID_ARGUMENT');
  });

  it('keeps no memory, also where the value has no gradient', async () => {
    const run = async (): Promise<void> => {
      const { grad: found, aux } = await grad(f, { hasAux: true })(x);
      for (const one of [found, aux.square, aux.rest[0], aux.same]) one.dispose();
      await codeOf(() => grad((v: Tensor) => [v.mul(2), v.exp()] as const, { hasAux: true })(x));
      await codeOf(() =>
        grad((v: Tensor) => [v.log().mul(0).sum(), v.exp()] as const, {
          hasAux: true,
          detectNaN: true,
        })(none),
      );
    };
    const none = await zeros([2], cpu);
    await run();
    const kept = await memoryKept(device('cpu'), async () => {
      for (let k = 0; k < 20; k++) await run();
      await device('cpu').synchronize();
    });
    expect(kept).toEqual(NOTHING);
  });
});

describe('vjp', () => {
  it('takes trees of values, and several arguments', async () => {
    const f = (a: { p: Tensor }, b: Tensor) => ({ sum: a.p.add(b), list: [b.square(), a.p] });
    const call = await vjp(f, { argnums: [0, 1] })({ p: x }, x);
    expect(await (call.value.list[0] as Tensor).toNested()).toEqual([1, 4, 9]);
    const [byA, byB] = await call.pull({ sum: x, list: [x, x.mul(10)] });
    expect(await byA.p.toNested()).toEqual([11, 22, 33]);
    expect(await byB.toNested()).toEqual([3, 10, 21]);
    expect(await codeOf(() => call.pull({ sum: x, list: [x] }))).toBe('SHAPE_MISMATCH');
    expect(await codeOf(() => call.pull(3 as never))).toBe('INVALID_ARGUMENT');
    call.dispose();
  });
});

describe('allowUnused', () => {
  it('gives zeros for whole numbers and truth values, also where the value is computed of them', async () => {
    const whole = await tensor(Int32Array.of(1, 2, 3), cpu);
    const truths = await x.gt(1);
    const f = (a: Tensor, n: Tensor, t: Tensor): PromiseLike<Tensor> =>
      a.mul(n.cast('float64').square()).mul(t.cast('float64')).sum();
    const options = { argnums: [0, 1, 2], allowUnused: true } as const;
    const found = await grad(f, options)(x, whole, truths);
    expect(await Promise.all((found as readonly Tensor[]).map((one) => one.toNested()))).toEqual([
      [0, 4, 9],
      [0, 0, 0],
      [false, false, false],
    ]);
    expect(found.map((one) => one.dtype)).toEqual(['float64', 'int32', 'bool']);
    const { value, pull, dispose } = await vjp(f, options)(x, whole, truths);
    const [, ofWhole] = await pull(await tensor(1, cpu));
    expect(await ofWhole.toNested()).toEqual([0, 0, 0]);
    expect(await value.item()).toBe(2 * 4 + 3 * 9);
    dispose();
  });

  it('of vjp: whole numbers are refused without it, and false refuses variables without influence', async () => {
    const f = (a: Tensor, _: Tensor): PromiseLike<Tensor> => a.square();
    const whole = await tensor(Int32Array.of(1), cpu);
    expect(await codeOf(() => vjp(f, { argnums: 1 })(x, whole))).toBe('DTYPE_MISMATCH');
    const lenient = await vjp(f, { argnums: 1 })(x, x);
    expect(await (await lenient.pull(x)).toNested()).toEqual([0, 0, 0]);
    const strict = await vjp(f, { argnums: 1, allowUnused: false })(x, x);
    expect(await codeOf(() => strict.pull(x))).toBe('INDEPENDENT');
    for (const one of [lenient, strict]) one.dispose();
  });
});
