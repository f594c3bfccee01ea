import { tensor, zeros, type Pending, type Tensor, type Device } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { drawnOn, expectClose } from '../../test/differences.mjs';
import { checkpoint, customJvp, customVjp, grad, jvp, linearize, vjp } from '../index.js';
import { codeOf } from '../../test/code-of.mjs';

/** `linearize` against `jvp`. */
export function describeLinearize(device: () => Device): void {
  const on = () => ({ device: device() });
  const drawn = drawnOn(device);

  const numbers = async (x: Tensor): Promise<number[]> =>
    Array.from(await x.toTypedArray(), Number);

  let x: Tensor<'float64'>;

  beforeAll(async () => {
    x = await tensor(Float64Array.of(1, 2, 3), on());
  });

  type Unary = (v: Tensor) => PromiseLike<Tensor> | Tensor;

  describe('linearize', () => {
    const doubled = customJvp(
      (v: Tensor) => v.square(),
      ([t], { args: [v] }) => v.mul(t).mul(2),
    );
    const CASES: readonly (readonly [name: string, f: Unary])[] = [
      ['elementwise', (v) => v.exp().mul(v.sin()).add(v.slice(0))],
      [
        'reductions',
        (v) =>
          v
            .softmax(1)
            .mul(v.logSumExp(1, { keepDims: true }))
            .norm(2),
      ],
      ['views', (v) => v.transpose().flip(0).contiguous().reshape([-1]).broadcastTo([2, 12])],
      ['parts', (v) => v.split(3, 1)[1]?.square() ?? v],
      ['a constant on the way', (v) => v.floor().mul(v)],
      ['the variable itself', (v) => v],
      ['a rule for tangents', (v) => doubled(v)],
      [
        'a rule for cotangents',
        (v) =>
          customVjp(
            (w: Tensor) => w.square(),
            (g, { args: [w] }) => [g.mul(w).mul(2)],
          )(v),
      ],
      ['what is computed again', (v) => checkpoint((w: Tensor) => w.softmax())(v)],
    ];

    it.each(CASES)('pushes each direction as jvp does, with one run: %s', async (_, f) => {
      const at = await drawn([2, 3, 2], [0.3, 1.8], 7);
      let runs = 0;
      const { value, push, dispose } = await linearize(async (v: Tensor) => {
        runs++;
        return f(v);
      })(at);
      for (const seed of [8, 9]) {
        const direction = await drawn(at.shape, [-1, 1], seed);
        const wanted = await jvp(async (v: Tensor) => f(v))([at], [direction]);
        expectClose(await numbers(await push(direction)), await numbers(wanted.tangent), 1e-13);
        expect(await value.toNested()).toEqual(await wanted.value.toNested());
      }
      expect(runs).toBe(1);
      dispose();
    });

    it('takes and gives trees, constants among the arguments, and arguments without a change', async () => {
      const whole = await tensor(Int32Array.of(1, 0, 1), on());
      const f = async (
        all: { a: Tensor; parts: readonly Tensor[] },
        factor: number,
        c: Tensor,
        n: Tensor,
      ): Promise<{ product: Tensor; list: readonly Tensor[] }> => ({
        product: await all.a.mul(all.parts[0] as Tensor).mul(factor),
        list: [await c.mul(n), all.a],
      });
      const { push, dispose } = await linearize(f)({ a: x, parts: [x] }, 2, x, whole);
      const first = await push({ a: x, parts: [x] }, undefined, undefined, undefined);
      expect(await first.product.toNested()).toEqual([4, 16, 36]);
      expect(await first.list[0]?.toNested()).toEqual([0, 0, 0]);
      expect(await first.list[1]?.toNested()).toEqual([1, 2, 3]);
      const second = await push(undefined, undefined, x, whole);
      expect(await second.product.toNested()).toEqual([0, 0, 0]);
      expect(await second.list[0]?.toNested()).toEqual([1, 0, 3]);
      dispose();
    });

    it('is differentiated: by the point and by the direction', async () => {
      // x^3 along d is 3 x^2 d
      const along = async (v: Tensor, d: Tensor): Promise<Tensor> => {
        const { push, dispose } = await linearize((w: Tensor) => w.pow(3))(v);
        const tangent = await push(d);
        dispose();
        return tangent.sum();
      };
      const d = await tensor(Float64Array.of(1, 10, 100), on());
      const [byPoint, byDirection] = await grad(along, { argnums: [0, 1] })(x, d);
      expectClose(await numbers(byPoint), [6, 120, 1800], 1e-13);
      expectClose(await numbers(byDirection), [3, 12, 27], 1e-13);
      const { tangent } = await jvp(async (v: Tensor) => along(v, d))([x], [x]);
      expectClose(await numbers(tangent), [6 + 240 + 5400], 1e-13);
    });

    it('keeps what its tangents need when the value is disposed, until dispose', async () => {
      const { value, push, dispose } = await linearize((v: Tensor) => v.softmax())(x);
      value.dispose();
      const p = [1, 2, 3].map((one) => Math.exp(one) / (Math.E + Math.E ** 2 + Math.E ** 3));
      const mean = p.reduce((sum, one, k) => sum + one * (k + 1), 0);
      const wanted = p.map((one, k) => one * (k + 1 - mean));
      expectClose(await numbers(await push(x)), wanted, 1e-13);
      dispose();
      expect(await codeOf(() => push(x))).toBe('FREED');
    });

    it('refuses changes that are not like the arguments, and what was written meanwhile', async () => {
      const weights = await tensor(Float64Array.of(1, 2, 3), on());
      const { push, dispose } = await linearize((v: Tensor) => v.mul(weights))(x);
      expect(await codeOf(async () => push(await zeros([2], on())))).toBe('SHAPE_MISMATCH');
      expect(await codeOf(() => push([x, x] as never))).toBe('SHAPE_MISMATCH');
      expect(await codeOf(() => (push as () => Promise<unknown>)())).toBe('INVALID_ARGUMENT');
      await weights.fill(1);
      expect(await codeOf(() => push(x))).toBe('MODIFIED');
      dispose();
      expect(await codeOf(async () => linearize(1 as never))).toBe('INVALID_ARGUMENT');
      expect(await codeOf(() => linearize(async () => 3)())).toBe('INVALID_ARGUMENT');
      expect(await codeOf(() => linearize((v: Tensor) => v.mul(2, { out: x }))(x))).toBe(
        'NOT_DIFFERENTIABLE',
      );
    });

    it.each<readonly [string, Unary]>([
      ['elementwise', (v) => v.exp()],
      ['awaited between', async (v) => v.exp()],
      ['no elementwise operation', (v) => v.softmax()],
      ['a view of what is read', (v) => v.exp().reshape([3, 1])],
      [
        'a rule for cotangents',
        (v) =>
          customVjp(
            (w: Tensor) => w.exp(),
            (g, c) => [g.mul(c.value)],
          )(v),
      ],
    ])('and vjp refuse a value that was written where it is read: %s', async (_, f) => {
      const given = await linearize(async (v: Tensor) => f(v))(x);
      (await given.push(x)).dispose();
      const pulled = await vjp(async (v: Tensor) => f(v))(x);
      (await pulled.pull(pulled.value)).dispose();
      for (const { value } of [given, pulled]) await value.fill(0);
      expect(await codeOf(() => given.push(x))).toBe('MODIFIED');
      expect(await codeOf(() => pulled.pull(pulled.value))).toBe('MODIFIED');
      given.dispose();
      pulled.dispose();
    });

    it.each<readonly [string, Unary]>([
      ['elementwise', (v) => v.mul(v)],
      ['no elementwise operation', (v) => v.cumSum()],
    ])('and vjp take a value that was written where nothing reads it: %s', async (_, f) => {
      const given = await linearize(async (v: Tensor) => f(v))(x);
      const before = await (await given.push(x)).toNested();
      await given.value.fill(0);
      expect(await (await given.push(x)).toNested()).toEqual(before);
      given.dispose();
      const { value, pull, dispose } = await vjp(async (v: Tensor) => f(v))(x);
      const cotangent = await value.clone();
      const slope = await (await pull(cotangent)).toNested();
      await value.fill(0);
      expect(await (await pull(cotangent)).toNested()).toEqual(slope);
      dispose();
    });

    it('and vjp refuse what is read when aux or another value was written', async () => {
      const f = async (v: Tensor): Promise<readonly [Tensor, Tensor]> => {
        const between = v.exp();
        return [await between.mul(between), await between];
      };
      const { aux, pull, dispose } = await vjp(f, { hasAux: true })(x);
      await aux.fill(0);
      expect(await codeOf(() => pull(x))).toBe('MODIFIED');
      dispose();
      const given = await linearize(f)(x);
      await given.value[1].fill(0);
      expect(await codeOf(() => given.push(x))).toBe('MODIFIED');
      given.dispose();
    });

    it('keeps no memory', async () => {
      const f = (v: Tensor): Pending<Tensor> => v.softmax().mul(v.norm()).prod();
      const run = async (): Promise<void> => {
        const { value, push, dispose } = await linearize(f)(x);
        for (const one of [await push(x), await push(x), value]) one.dispose();
        dispose();
        await codeOf(() => linearize((v: Tensor) => v.exp().mul(2, { out: x }))(x));
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
