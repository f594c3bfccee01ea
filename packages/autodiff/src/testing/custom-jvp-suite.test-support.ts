import { tensor, where, zeros, type Tensor, type Device } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { expectClose } from '../../test/differences.mjs';
import { checkpoint, customJvp, customVjp, grad, hessian, hvp, jvp, vjp, vmap } from '../index.js';
import { codeOf } from '../../test/code-of.mjs';

/** Rules of tangents that callers write. */
export function describeCustomJvp(device: () => Device): void {
  const on = () => ({ device: device() });

  const numbers = async (x: Tensor): Promise<number[]> =>
    Array.from(await x.toTypedArray(), Number);

  let x: Tensor<'float64'>;
  let y: Tensor<'float64'>;

  beforeAll(async () => {
    x = await tensor(Float64Array.of(1, 2, 3), on());
    y = await tensor(Float64Array.of(4, 5, 6), on());
  });

  /** x^2, of which the rule says that the derivative is 3 x. */
  const square = customJvp(
    (v: Tensor) => v.square(),
    ([t], { args: [v] }) => v.mul(t).mul(3),
  );

  describe('customJvp', () => {
    it('has its rule forwards and backwards, for plain tensors none', async () => {
      expect(await (await square(x)).toNested()).toEqual([1, 4, 9]);
      const { value, tangent } = await jvp(async (v: Tensor) => square(v))([x], [y]);
      expect(await value.toNested()).toEqual([1, 4, 9]);
      expect(await tangent.toNested()).toEqual([12, 30, 54]);
      expect(await (await grad((v: Tensor) => square(v).sum())(x)).toNested()).toEqual([3, 6, 9]);
      const { pull, dispose } = await vjp((v: Tensor) => square(v))(x);
      expect(await (await pull(y)).toNested()).toEqual([12, 30, 54]);
      dispose();
    });

    it('is differentiated: every way to the second order, and a third', async () => {
      // the slope of x^2 x is x^2 + 3 x x, and of that only the first is by the rule
      const loss = (v: Tensor): PromiseLike<Tensor> => square(v).mul(v).sum();
      const curvature = [1, 2, 3].map((one) => 3 * one + 6 * one);
      const reverse = await grad(async (v: Tensor) => (await grad(loss)(v)).sum())(x);
      expectClose(await numbers(reverse), curvature, 1e-13);
      const ones = await tensor(Float64Array.of(1, 1, 1), on());
      expectClose(await numbers(await hvp(loss)(x, ones)), curvature, 1e-13);
      const matrix = await numbers(await hessian(loss)(x));
      expectClose(
        [0, 4, 8].map((at) => matrix[at] ?? NaN),
        curvature,
        1e-13,
      );
      const { tangent } = await jvp(async (v: Tensor) => {
        const inner = await jvp(async (w: Tensor) => square(w))([v], [ones]);
        return inner.tangent; // 3 x
      })([x], [y]);
      expect(await tangent.toNested()).toEqual([12, 15, 18]);
      const third = await grad(async (v: Tensor) => (await hvp(loss)(v, ones)).sum())(x);
      expectClose(await numbers(third), [9, 9, 9], 1e-13);
    });

    it('takes several arguments, trees and constants among them, zeros where one has no tangent', async () => {
      type Pair = { readonly a: Tensor; readonly b: readonly Tensor[] };
      const f = customJvp(
        ({ a, b }: Pair, factor: number, index: Tensor) =>
          a
            .mul(b[0] as Tensor)
            .mul(factor)
            .add(index),
        ([{ a: da, b: db }, none, ofIndex], { args: [{ a, b }, factor] }) => {
          expect([none, ofIndex]).toEqual([undefined, undefined]);
          const byA = da.mul(b[0] as Tensor);
          return byA.add(a.mul(db[0] as Tensor)).mul(factor);
        },
      );
      const index = await tensor(Int32Array.of(1, 1, 1), on());
      const of = (a: Tensor, b: Tensor): PromiseLike<Tensor> => f({ a, b: [b] }, 2, index).sum();
      const [byX, byY] = await grad(of, { argnums: [0, 1] })(x, y);
      expect(await byX.toNested()).toEqual([8, 10, 12]);
      expect(await byY.toNested()).toEqual([2, 4, 6]);
      const { tangent } = await jvp(async (a: Tensor, b: Tensor) => of(a, b))(
        [x, y],
        [undefined, x],
      );
      expect(await tangent.item()).toBe(2 * (1 + 4 + 9));
    });

    it('has tangents under vmap that are there later', async () => {
      const f = customJvp(
        (v: Tensor) => v.softmax(),
        async ([t], { args: [v] }) =>
          (await jvp(async (w: Tensor) => await w.softmax())([v], [t])).tangent,
      );
      const rows = async (v: Tensor) => vmap(async (w: Tensor) => await f(w))(v.reshape([1, 3]));
      const { tangent } = await jvp(rows)([x], [y]);
      const plain = await jvp(async (v: Tensor) => await v.softmax())([x], [y]);
      expectClose(await numbers(tangent), await numbers(plain.tangent), 1e-13);
    });

    it('gives float32 gradients for float32, and gives for an argument without influence nothing', async () => {
      const f = customJvp(
        (a: Tensor, _: Tensor) => a.mul(2),
        ([da]) => da.mul(2),
      );
      const single = await x.cast('float32');
      const of = (a: Tensor, b: Tensor): PromiseLike<Tensor> => f(a, b).sum();
      const found = await grad(of)(single, y);
      expect([found.dtype, await found.toNested()]).toEqual(['float32', [2, 2, 2]]);
      expect(await codeOf(() => grad(of, { argnums: 1 })(single, y))).toBe('INDEPENDENT');
    });

    it.each<readonly [string, string, () => unknown]>([
      ['nothing', 'INVALID_ARGUMENT', () => undefined],
      ['a list', 'INVALID_ARGUMENT', () => [x]],
      ['a number', 'INVALID_ARGUMENT', () => 3],
      ['another shape', 'SHAPE_MISMATCH', () => zeros([2], on())],
      ['a shape that broadcasts', 'SHAPE_MISMATCH', () => zeros([1], on())],
      ['whole numbers', 'DTYPE_MISMATCH', () => zeros([3], { ...on(), dtype: 'int32' })],
    ])('refuses a rule that gives %s: %s', async (_, code, given) => {
      const wrong = customJvp(
        (v: Tensor) => v.square(),
        () => given() as Tensor,
      );
      expect(await codeOf(() => jvp(async (v: Tensor) => wrong(v))([x], [x]))).toBe(code);
      expect(await codeOf(() => grad((v: Tensor) => wrong(v).sum())(x))).toBe(code);
    });

    const CONSTANTS: readonly (readonly [string, () => unknown])[] = [
      ['a tensor', () => y],
      ['a result that is not awaited', () => y.mul(1)],
      ['a promise', async () => y],
      ['a view', () => y.view()],
      ['another dtype', () => y.cast('float32')],
    ];

    it.each(CONSTANTS)('takes a rule that gives a constant: %s', async (_, constant) => {
      const ofTangent = customJvp(
        (v: Tensor) => v.square(),
        () => constant() as Tensor,
      );
      const once = await jvp(async (v: Tensor) => ofTangent(v))([x], [x]);
      expect([once.tangent.dtype, await once.tangent.toNested()]).toEqual(['float64', [4, 5, 6]]);
      const { tangent } = await jvp(async (v: Tensor) => ofTangent(v).mul(v).sum())([x], [x]);
      // the constant times v, and the value v^2 times the direction
      expect(await tangent.item()).toBe(4 + 10 + 18 + 1 + 8 + 27);
      const ofCotangent = customVjp(
        (v: Tensor) => v.square(),
        () => [constant()],
      );
      const loss = (v: Tensor): PromiseLike<Tensor> => ofCotangent(v).add(v).sum();
      const found = await grad(loss)(x);
      expect([found.dtype, await found.toNested()]).toEqual(['float64', [5, 6, 7]]);
      const alone = await grad((v: Tensor) => ofCotangent(v).sum())(x);
      await alone.fill(0);
      expect(await y.toNested()).toEqual([4, 5, 6]);
      expect(await (await hvp(loss)(x, x)).toNested()).toEqual([0, 0, 0]);
    });

    const NONLINEAR: readonly (readonly [string, (t: Tensor, v: Tensor) => unknown])[] = [
      ['a square', (t, v) => t.square().mul(v)],
      ['a product of two', (t) => t.mul(t.add(t))],
      ['a magnitude', (t) => t.abs()],
      ['an exponential', (t) => t.exp()],
      ['a choice by its sign', (t, v) => where(t.gt(0), t, v)],
      ['a read', async (t, v) => v.mul(Number(await t.sum().item()))],
    ];

    it.each(NONLINEAR)('refuses to turn a rule round that is not linear: %s', async (_, rule) => {
      const ofTangent = customJvp(
        (v: Tensor) => v.square(),
        ([t], { args: [v] }) => rule(t, v) as Tensor,
      );
      await expect(grad((v: Tensor) => ofTangent(v).sum())(x)).rejects.toThrow(
        /^customJvp: the rule is not linear in the tangents: /,
      );
      expect(await codeOf(() => jvp(async (v: Tensor) => ofTangent(v))([x], [x]))).toBe('nothing');
      const ofCotangent = customVjp(
        (v: Tensor) => v.square(),
        (g, { args: [v] }) => [rule(g, v)],
      );
      const { code } = (await jvp(async (v: Tensor) => ofCotangent(v))([x], [x]).catch(
        (error: unknown) => error,
      )) as { readonly code?: string };
      expect(code).toBe('NOT_LINEAR');
      expect(await codeOf(() => grad((v: Tensor) => ofCotangent(v).sum())(x))).toBe('nothing');
    });

    it('turns round whatever is linear', async () => {
      const rules: readonly ((t: Tensor, v: Tensor) => unknown)[] = [
        (t, v) => t.mul(v).div(v.exp()).neg().cumSum(0).flip(0),
        (t, v) => v.mul(t.mul(v.cos()).sum()).sub(t.mean()),
        (t, v) => where(v.gt(1.5), t, t.mul(2)),
        async (t, v) => (await grad((u: Tensor) => u.sin().mul(t).sum())(v)).mul(3),
      ];
      for (const rule of rules) {
        const f = customJvp(
          (v: Tensor) => v.square(),
          ([t], { args: [v] }) => rule(t, v) as Tensor,
        );
        // <y, J e> = <J^T y, e>
        const { tangent } = await jvp(async (v: Tensor) => f(v))([x], [x]);
        const { pull } = await vjp((v: Tensor) => f(v))(x);
        const [along, back] = [await tangent.mul(y).sum().item(), await (await pull(y)).mul(x).sum().item()]; // prettier-ignore
        expectClose([back], [along], 1e-13);
      }
    });

    it('refuses values of the function that are no arguments, by name', async () => {
      const twice = (w: Tensor): PromiseLike<Tensor> => w.mul(2);
      const functions: readonly (readonly [string, (v: Tensor) => PromiseLike<Tensor>])[] = [
        ['NOT_DIFFERENTIABLE', (v) => customVjp((w: Tensor) => w.mul(v), (g) => [g])(v)],
        ['ESCAPED', (v) => customVjp(twice, (g) => [g.mul(v)])(v)],
        ['NOT_DIFFERENTIABLE', (v) => customJvp((w: Tensor) => w.mul(v), ([t]) => t)(v)],
        ['ESCAPED', (v) => customJvp(twice, ([t]) => t.mul(v))(v)],
        ['NOT_DIFFERENTIABLE', (v) => checkpoint((w: Tensor) => w.mul(v))(v)],
      ]; // prettier-ignore
      for (const [code, f] of functions) {
        expect(await codeOf(() => grad(async (v: Tensor) => (await f(v)).sum())(x))).toBe(code);
        const forwards = await codeOf(async () => jvp(async (v: Tensor) => f(v))([x], [x]));
        expect(['NOT_DIFFERENTIABLE', 'ESCAPED']).toContain(forwards);
        const mapped = await codeOf(async () => vmap(async (v: Tensor) => f(v))(x));
        expect(mapped).toBe(code === 'ESCAPED' ? 'nothing' : 'NOT_DIFFERENTIABLE');
      }
    });

    it('has the gradient of a value that it closes over where no argument is traced, or one of an inner derivative', async () => {
      const of = (v: Tensor) => customVjp((w: Tensor) => w.mul(v), (g) => [g.mul(v)]); // prettier-ignore
      const again = (v: Tensor) => checkpoint((w: Tensor) => w.square().mul(v));
      expect(await (await grad((v: Tensor) => of(v)(y).sum())(x)).toNested()).toEqual([4, 5, 6]);
      expect(await (await grad((v: Tensor) => again(v)(y).sum())(x)).toNested()).toEqual([
        16, 25, 36,
      ]);
      const inner = async (v: Tensor) => (await grad((w: Tensor) => again(v)(w).sum())(y)).sum();
      expect(await (await grad(inner)(x)).toNested()).toEqual([8, 10, 12]);
      const ofRule = async (v: Tensor) => (await grad((w: Tensor) => of(v)(w).sum())(y)).sum();
      expect(await (await grad(ofRule)(x)).toNested()).toEqual([1, 1, 1]);
    });

    it('refuses what is no function', async () => {
      expect(await codeOf(async () => customJvp(1 as never, () => x))).toBe('INVALID_ARGUMENT');
      expect(await codeOf(async () => customJvp(() => x, 1 as never))).toBe('INVALID_ARGUMENT');
    });

    it('keeps no memory', async () => {
      const ones = await tensor(Float64Array.of(1, 1, 1), on());
      const loss = (v: Tensor): PromiseLike<Tensor> => square(v).mul(v).sum();
      const wrong = customJvp(
        (v: Tensor) => v.square(),
        ([t]) => t.slice([0, 1]),
      );
      const tripled = customJvp(
        (v: Tensor) => v.square(),
        () => y,
      );
      const fixed = customVjp(
        (v: Tensor) => v.square(),
        () => [y],
      );
      const run = async (): Promise<void> => {
        const { value, tangent } = await jvp(async (v: Tensor) => square(v))([x], [ones]);
        const all = [value, tangent, await grad(loss)(x), await hvp(loss)(x, ones)];
        for (const one of all) one.dispose();
        await codeOf(() => grad((v: Tensor) => wrong(v).sum())(x));
        const constant = await jvp(async (v: Tensor) => tripled(v).mul(2).sum())([x], [ones]);
        for (const one of [constant.value, constant.tangent]) one.dispose();
        (await grad((v: Tensor) => fixed(v).add(v).sum())(x)).dispose();
      };
      await run();
      const kept = await memoryKept(device(), async () => {
        for (let k = 0; k < 20; k++) await run();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });
  });
}
