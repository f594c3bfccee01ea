import {
  concat,
  gatherRows,
  pad,
  split,
  stack,
  sumTo,
  tensor,
  tile,
  tril,
  where,
  zeros,
  type Pending,
  type Tensor,
  type Device,
} from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { drawnOn, expectClose } from '../../test/differences.mjs';
import {
  checkpoint,
  customVjp,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  linearize,
  stopGradient,
  vjp,
} from '../index.js';
import { codeOf } from '../../test/code-of.mjs';

/** Tangents, cotangents, Jacobians and Hessians. */
export function describeTransforms(device: () => Device): void {
  const on = () => ({ device: device() });
  const drawn = drawnOn(device);

  const dot = async (a: Tensor, b: Tensor): Promise<number> => Number(await a.mul(b).sum().item());

  /** What has no derivative rule: elements of a traced value in another tensor. */
  const copied = async (from: Tensor): Promise<Tensor> => {
    using to = await zeros(from.shape, on());
    return await to.copyFrom(from);
  };

  type Unary = (x: Tensor) => PromiseLike<Tensor> | Tensor;

  let x: Tensor<'float64'>;
  let index: Tensor<'int32'>;

  beforeAll(async () => {
    x = await tensor(Float64Array.of(1, 2, 3), on());
    index = await tensor(Int32Array.of(1, 0, 1), on());
  });

  describe('tangents and cotangents', () => {
    const CASES: readonly (readonly [name: string, f: Unary])[] = [
      ['elementwise', (v) => v.exp().mul(v.sin()).add(v.slice(0)).div(v.square().add(1))],
      [
        'a smaller operand',
        (v) =>
          v
            .slice(0, 0)
            .add(v.square())
            .maximum(v.slice(null, [0, 1]).mul(0.9)),
      ],
      ['where and pow', (v) => where(v.gt(0), v.pow(3), v.square().pow(1.5))],
      [
        'sum and mean',
        (v) =>
          v
            .square()
            .sum(1)
            .mul(v.mean([0, 2]).slice(0)),
      ],
      ['prod', (v) => v.prod(1)],
      ['extremes', (v) => v.min(0).mul(v.max(0))],
      ['var and std', (v) => v.var(1).add(v.std(1, { correction: 1 }))],
      ['norm', (v) => v.norm(2, { ord: 3 })],
      ['logSumExp', (v) => v.logSumExp(1, { keepDims: true })],
      ['softmax', (v) => v.softmax(1)],
      ['logSoftmax', (v) => v.logSoftmax(0)],
      ['views', (v) => v.transpose().permute([1, 2, 0]).flip(0).slice([0, 1]).view()],
      ['reshape and broadcastTo', (v) => v.reshape([2, -1]).broadcastTo([3, 2, 6])],
      ['copies', (v) => v.clone().add(v.contiguous()).add(v.to(device()))],
      ['cast', (v) => v.cast('float64').square()],
      ['split', (v) => concat(split(v.square(), 3, 1).toReversed(), 1)],
      ['stack', (v) => stack([v, v.square(), v.mul(2).cast('float64')], 1)],
      [
        'concat with a constant',
        (v) => concat([v, x.reshape([1, 3, 1]).broadcastTo([1, 3, 2])], 0),
      ],
      ['pad and tile', (v) => tile(pad(v, 1), [2, 1])],
      [
        'triangles and diagonals',
        (v) => tril(v.square()).add(v.slice(0, 0).diag(1).slice([0, 3], [1, 3])),
      ],
      ['sumTo', (v) => sumTo(v as Tensor<'float64'>, [3, 1])],
      ['take', (v) => v.square().take([[0, -1]], 1)],
      ['takeAlongAxis', (v) => v.takeAlongAxis([[[1, 0]]]).square()],
      ['cumSum', (v) => v.square().cumSum()],
      ['sort', (v) => v.sort(0).square()],
      ['compress', (v) => v.compress(v.gt(0.9)).square()],
      ['rows by index', (v) => gatherRows(v, index).square()],
      [
        'a rule of its own',
        (v) =>
          customVjp(
            (w: Tensor) => w.square(),
            (g, { args: [w] }) => [g.mul(w).mul(2)],
          )(v),
      ],
      ['what is computed again', (v) => checkpoint((w: Tensor) => w.softmax().square())(v)],
      ['what does not change', (v) => v.floor().mul(v)],
    ];

    it.each(CASES)('agree: %s', async (_, f) => {
      const at = await drawn([2, 3, 2], [0.3, 1.8], 7);
      const direction = await drawn(at.shape, [-1, 1], 8);
      const { value, tangent } = await jvp(async (v: Tensor) => f(v))([at], [direction]);
      expect(tangent.shape).toEqual(value.shape);
      const { value: same, pull, dispose } = await vjp(f)(at);
      expect(await same.toNested()).toEqual(await value.toNested());
      const weights = await drawn(value.shape, [-1, 1], 9);
      const forwards = await dot(tangent, weights);
      const backwards = await dot(direction, await pull(weights));
      expectClose([forwards], [backwards], 1e-12);
      // and with a difference along the direction
      const step = 1e-6;
      const [above, below] = await Promise.all(
        [step, -step].map(async (by) => f(await at.add(direction.mul(by)))),
      );
      const slope = await dot(
        await (above as Tensor).sub(below as Tensor).mul(0.5 / step),
        weights,
      );
      expectClose([forwards], [slope], 1e-6);
      dispose();
    });

    it.each(CASES)('forwards over backwards as backwards over backwards: %s', async (_, f) => {
      const at = await drawn([2, 3, 2], [0.3, 1.8], 7);
      const direction = await drawn(at.shape, [-1, 1], 8);
      const loss = async (v: Tensor): Promise<Tensor> => {
        const value = await f(v);
        return value.mul(value).sum();
      };
      const product = await hvp(loss)(at, direction);
      const twice = await grad(async (v: Tensor) => (await grad(loss)(v)).mul(direction).sum(), {
        allowUnused: true,
      })(at);
      expectClose(
        await product.toTypedArray(),
        Array.from(await twice.toTypedArray(), Number),
        1e-10,
      );
    });

    it('are pulled several times, until dispose', async () => {
      const { value, pull, dispose } = await vjp((v: Tensor) => v.square())(x);
      expect(await value.toNested()).toEqual([1, 4, 9]);
      expect(await (await pull(x)).toNested()).toEqual([2, 8, 18]);
      expect(await (await pull(value)).toNested()).toEqual([2, 16, 54]);
      expect(await codeOf(async () => pull(await zeros([2], on())))).toBe('SHAPE_MISMATCH');
      dispose();
      expect(await codeOf(() => pull(x))).toBe('FREED');
    });

    it('that wait when they are disposed are computed, and nothing is kept', async () => {
      const f = (v: Tensor): PromiseLike<Tensor> => v.softmax().exp();
      const kept = await memoryKept(device(), async () => {
        const { value, pull, dispose } = await vjp(f)(x);
        const { push, ...linear } = await linearize(f)(x);
        const alone = [await pull(x), await push(x)];
        const waiting = [pull(x), push(x)];
        dispose();
        linear.dispose();
        expect([await codeOf(() => pull(x)), await codeOf(() => push(x))]).toEqual(['FREED', 'FREED']); // prettier-ignore
        const done = await Promise.all(waiting);
        const read = (all: readonly Tensor[]) => Promise.all(all.map((one) => one.toNested()));
        expect(await read(done)).toEqual(await read(alone));
        for (const one of [...alone, ...done, value, linear.value]) one.dispose();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('are zeros where nothing has influence', async () => {
      const { pull, dispose } = await vjp(async (_: Tensor) => tensor([1, 2], on()))(x);
      expect(await (await pull(await zeros([2], on()))).toNested()).toEqual([0, 0, 0]);
      dispose();
      const { tangent } = await jvp(async (_: Tensor) => tensor([1, 2], on()))([x], [x]);
      expect(await tangent.toNested()).toEqual([0, 0]);
    });

    it('take trees, and arguments without a tangent', async () => {
      const f = async (
        all: { a: Tensor; b: Tensor },
        c: Tensor,
      ): Promise<Record<string, Tensor>> => ({
        product: await all.a.mul(all.b),
        sum: await c.add(all.b),
      });
      const { value, tangent } = await jvp(f)([{ a: x, b: x }, x], [{ a: x, b: x }, undefined]);
      expect(await value['product']?.toNested()).toEqual([1, 4, 9]);
      expect(await tangent['product']?.toNested()).toEqual([2, 8, 18]);
      expect(await tangent['sum']?.toNested()).toEqual([1, 2, 3]);
    });
  });

  describe('matrices of derivatives', () => {
    const cases: readonly (readonly [
      name: string,
      f: Unary,
      (at: readonly number[]) => unknown,
    ])[] = [
      ['rows', (v) => v.square().sum().reshape([1]), (at) => [at.map((one) => 2 * one)]],
      [
        'columns',
        (v) => v.square(),
        (at) => at.map((one, i) => at.map((_, j) => (i === j ? 2 * one : 0))),
      ],
      [
        'of a matrix',
        (v) => stack([v, v.mul(2)], 1),
        (at) => at.map((_, i) => [1, 2].map((factor) => at.map((__, j) => (i === j ? factor : 0)))),
      ],
    ];

    it.each([
      ['columns', (v: Tensor<'float32'>) => v.cast('float64').square()],
      ['rows', (v: Tensor<'float32'>) => v.cast('float64').square().sum()],
    ])('a jacobian by %s has the dtype of the argument', async (_, f) => {
      const narrow = await tensor([1, 2], { device: device() });
      const matrix: Tensor<'float32'> = await jacobian(f)(narrow);
      expect([matrix.dtype, (await matrix.toTypedArray()).at(-1)]).toEqual(['float32', 4]);
    });

    it.each(cases)('jacobian: %s', async (_, f, expected) => {
      expect(await (await jacobian(f)(x)).toNested()).toEqual(expected([1, 2, 3]));
    });

    it('of nothing have no elements', async () => {
      const none = await zeros([0], on());
      expect((await jacobian((v: Tensor) => v.exp())(none)).shape).toEqual([0, 0]);
    });

    it('hessian', async () => {
      const found = await hessian((v: Tensor) => v.pow(3).sum().add(v.prod()))(x);
      expect(await found.toNested()).toEqual([
        [6, 3, 2],
        [3, 12, 1],
        [2, 1, 18],
      ]);
    });

    it('of a third order', async () => {
      const found = await grad(async (v: Tensor) =>
        (await hessian((w: Tensor) => w.pow(4).sum())(v)).sum(),
      )(x);
      expect(await found.toNested()).toEqual([24, 48, 72]);
    });
  });

  describe('rules of its own', () => {
    const square = customVjp(
      (v: Tensor) => v.square(),
      (g, { args: [v] }) => [g.mul(v).mul(3)], // not the derivative
    );

    it('are taken instead of those of the operations, for plain tensors not at all', async () => {
      expect(await (await square(x)).toNested()).toEqual([1, 4, 9]);
      expect(await (await grad((v: Tensor) => square(v).sum())(x)).toNested()).toEqual([3, 6, 9]);
    });

    it('are differentiated', async () => {
      const slope = async (v: Tensor): Promise<Tensor> =>
        (await grad((w: Tensor) => square(w).sum())(v)).sum();
      expect(await (await grad(slope)(x)).toNested()).toEqual([3, 3, 3]);
    });

    it('of checkpoint gives a handle of its own for what f only passes on', async () => {
      const same = checkpoint((w: Tensor, _: Tensor) => w);
      const other = checkpoint((_: Tensor) => x);
      for (const one of [await same(x, x), await other(x)]) one.dispose();
      const found = await grad((w: Tensor) => same(w, x).mul(2).add(other(x)).sum())(x);
      expect(await found.toNested()).toEqual([2, 2, 2]);
      expect(await x.toNested()).toEqual([1, 2, 3]);
    });

    it('see no values but their arguments', async () => {
      const f = (v: Tensor): Pending<Tensor> => checkpoint((w: Tensor) => w.mul(v))(v).sum();
      expect(await codeOf(() => grad(f)(x))).toBe('NOT_DIFFERENTIABLE');
    });
  });

  describe('whole numbers and truth values', () => {
    it.each<readonly [string, (v: Tensor) => PromiseLike<Tensor>]>([
      ['int32', (v) => v.cast('int32').cast('float64')],
      ['bool', (v) => v.cast('bool').cast('float64')],
      ['a comparison', (v) => v.gt(0).cast('float64')],
    ])('between are constants in every order: %s', async (_, whole) => {
      const at = await tensor(Float64Array.of(1.4, -2.4, 3.4), on());
      const one = await tensor(Float64Array.of(1, 1, 1), on());
      const slopes = await (await whole(at)).toNested();
      const f = async (v: Tensor): Promise<Tensor> => v.mul(await whole(v));
      const { tangent } = await jvp(f)([at], [one]);
      expect(await tangent.toNested()).toEqual(slopes);
      const matrix = await (await jacobian(f)(at)).toNested();
      expect((matrix as number[][]).map((row, k) => row[k])).toEqual(slopes);
      const { push, dispose } = await linearize(f)(at);
      expect(await (await push(one)).toNested()).toEqual(slopes);
      dispose();
      // v^2 times a constant
      const squares = async (v: Tensor): Promise<Tensor> => (await f(v)).mul(v).sum();
      const curvature = (slopes as number[]).map((slope) => 2 * slope);
      expect(await (await hvp(squares)(at, one)).toNested()).toEqual(curvature);
      const second = await (await hessian(squares)(at)).toNested();
      expect((second as number[][]).map((row, k) => row[k])).toEqual(curvature);
    });

    it('have no tangent as arguments', async () => {
      const { tangent } = await jvp(async (n: Tensor) => n.mul(x))([index], [index]);
      expect(await tangent.toNested()).toEqual([0, 0, 0]);
    });
  });

  describe('stopGradient', () => {
    it('ends every order', async () => {
      const f = (v: Tensor): PromiseLike<Tensor> => v.mul(stopGradient(v.square())).sum();
      expect(await (await grad(f)(x)).toNested()).toEqual([1, 4, 9]);
      expect(await stopGradient(x).toNested()).toEqual([1, 2, 3]);
      expect(await codeOf(() => grad((v: Tensor) => stopGradient(v).sum())(x))).toBe('INDEPENDENT');
    });

    it('by all their arguments, lists and records of tensors among them', async () => {
      type Layers = readonly { readonly weight: Tensor }[];
      const plain = (
        layers: Layers,
        other: { readonly shift: Tensor },
        scale: number,
      ): Pending<Tensor> => {
        const [one, two] = layers as [{ weight: Tensor }, { weight: Tensor }];
        return one.weight.square().mul(two.weight).add(other.shift.exp()).mul(scale);
      };
      let calls = 0;
      const again = checkpoint((...given: Parameters<typeof plain>) => {
        calls++;
        return plain(...given);
      });
      const own = customVjp(plain, (g, { args: [layers, other, scale] }) => {
        const [one, two] = layers as [{ weight: Tensor }, { weight: Tensor }];
        const scaled = g.mul(scale);
        return [
          [
            { weight: one.weight.mul(two.weight).mul(2).mul(scaled) },
            { weight: one.weight.square().mul(scaled) },
          ],
          { shift: other.shift.exp().mul(scaled) },
          undefined,
        ];
      });
      const leaves = await Promise.all([x.mul(1), x.mul(2), x.add(1)]);
      const gradients = async (f: typeof plain): Promise<unknown> => {
        const of = (a: Tensor, b: Tensor, c: Tensor): Pending<Tensor> =>
          // what is not in the call's own gradient as well
          f([{ weight: a }, { weight: b }], { shift: c }, 3)
            .sum()
            .add(a.sum());
        const found = await grad(of, { argnums: [0, 1, 2] })(
          ...(leaves as [Tensor, Tensor, Tensor]),
        );
        return Promise.all(found.map((one) => one.toNested()));
      };
      const wanted = await gradients(plain);
      expect(await gradients(again)).toEqual(wanted);
      expect(calls).toBe(2);
      expect(await gradients(own)).toEqual(wanted);
    });
  });

  describe('memory', () => {
    it('stays as it was', async () => {
      const f = (v: Tensor): Pending<Tensor> => v.softmax().mul(v.norm()).prod();
      const run = async (): Promise<void> => {
        const { value, pull, dispose } = await vjp(f)(x);
        const one = await tensor(Float64Array.of(1), { ...on(), shape: [] });
        const all = [value, one, await pull(one), await hvp(f)(x, x), await hessian(f)(x)];
        const { value: v, tangent } = await jvp(async (w: Tensor) => f(w))([x], [x]);
        const again = checkpoint((w: Tensor) => w.softmax().exp());
        all.push(await again(x), await grad((w: Tensor) => again(w).sum())(x));
        dispose();
        for (const made of [...all, v, tangent]) made.dispose();
        await codeOf(() => jvp(copied)([x], [x]));
      };
      await run();
      const kept = await memoryKept(device(), async () => {
        for (let k = 0; k < 20; k++) await run();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });
  });

  describe('bad input', () => {
    it.each<readonly [string, string, () => Promise<unknown>]>([
      [
        'lists of two lengths',
        'INVALID_ARGUMENT',
        () => jvp(async (v: Tensor) => v)([x], [] as never),
      ],
      ['no lists', 'INVALID_ARGUMENT', () => jvp(async (v: Tensor) => v)(x as never, x as never)],
      [
        'a tangent of another shape',
        'SHAPE_MISMATCH',
        async () => jvp(async (v: Tensor) => v)([x], [await zeros([2], on())]),
      ],
      ['fewer tangents', 'SHAPE_MISMATCH', () => jvp(async (v: Tensor[]) => v)([[x, x]], [[x]])],
      ['no function', 'INVALID_ARGUMENT', async () => jvp(1 as never)],
      [
        'no direction',
        'INVALID_ARGUMENT',
        () => hvp((v: Tensor) => v.sum())(x, undefined as never),
      ],
      ['jacobian by a tree', 'INVALID_ARGUMENT', () => jacobian(() => x)({ a: x } as never)],
      ['hessian by a tree', 'INVALID_ARGUMENT', () => hessian(() => x)({ a: x } as never)],
      [
        'jacobian by two tensors',
        'INVALID_ARGUMENT',
        () => (jacobian((v: Tensor) => v) as (...all: unknown[]) => Promise<unknown>)(x, x),
      ],
      ['a number to stopGradient', 'INVALID_ARGUMENT', async () => stopGradient(5 as never)],
      ['no function for a rule', 'INVALID_ARGUMENT', async () => customVjp(() => x, 1 as never)],
      ['an operation without a rule', 'NOT_DIFFERENTIABLE', () => jvp(copied)([x], [x])],
    ])('%s: %s', async (_, code, work) => {
      expect(await codeOf(work)).toBe(code);
    });
  });
}
