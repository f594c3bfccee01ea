import { oneHot, stack, tensor, where, zeros, type Device, type Tensor } from '@mercer/tensor';
import { differentiable } from '@mercer/tensor/operation';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { codeOf } from '../../test/code-of.mjs';
import { drawnOn, expectClose } from '../../test/differences.mjs';
import {
  checkpoint,
  customJvp,
  customVjp,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  linearize,
  scan,
  stopGradient,
  valueAndGrad,
  vjp,
  vmap,
} from '../index.js';

/** `vmap`, beside loops over the examples. */
export function describeVmap(device: () => Device): void {
  const on = () => ({ device: device() });

  const drawn = drawnOn(device);

  const numbers = async (x: Tensor): Promise<Float64Array> =>
    Float64Array.from(await x.toTypedArray(), Number);

  /** What a function of one example gives for each, one behind the other. */
  async function loop(f: (x: Tensor) => unknown, x: Tensor): Promise<Tensor> {
    const examples = Array.from({ length: x.shape[0] ?? 0 }, (_, k) => x.slice(k));
    return stack(await Promise.all(examples.map(async (one) => (await f(one)) as Tensor)));
  }

  const f = (x: Tensor): PromiseLike<Tensor> => x.sin().mul(x.square().sum()).add(x.slice(0)).sum();
  const examples = (): Promise<Tensor<'float64'>> => drawn([4, 3], [0.5, 1.5], 3);

  async function expectLoop(
    mapped: Promise<unknown>,
    of: (x: Tensor) => unknown,
    x: Tensor,
  ): Promise<void> {
    const [given, expected] = [(await mapped) as Tensor, await loop(of, x)];
    expect(given.shape).toEqual(expected.shape);
    expectClose(await numbers(given), await numbers(expected), 1e-12);
  }

  describe('arguments and results of vmap', () => {
    it('of index: masks that all examples share, and ranges', async () => {
      const x = await drawn([3, 2, 3, 2], [0, 1], 2);
      const mask = (await drawn([2, 3], [-1, 1], 5)).gt(0);
      const masked = (one: Tensor) => one.index([mask, 0]);
      await expectLoop(vmap(masked)(x), masked, x);
      const ranged = (one: Tensor) => one.index([[1, 0], { start: 1 }, [0, 1]]).square();
      await expectLoop(vmap(ranged)(x), ranged, x);
      const own = vmap((one: Tensor) => one.index([one.gt(0.5)]));
      expect(await codeOf(async () => own(x))).toBe('MAPPED');
    });

    it('lie along the axes that are named, counted from either end', async () => {
      const x = await drawn([2, 3, 4], [0, 1], 2);
      for (const axis of [0, 1, 2, -1, -3]) {
        const run = vmap((one: Tensor) => one.mul(2).add(one.sum(1, { keepDims: true })), {
          inAxes: axis,
          outAxes: axis,
        });
        const expected = await x
          .mul(2)
          .add(x.sum(axis === 0 || axis === -3 ? 2 : axis === 1 ? 2 : 1, { keepDims: true }));
        const given = await run(x);
        expect(given.shape).toEqual(x.shape);
        expectClose(await numbers(given), await numbers(expected), 1e-14);
        expect(given.isContiguous).toBe(true);
      }
    });

    it('has classes as vectors of each example, constant in gradients', async () => {
      const classes = await tensor(Int32Array.of(2, 0, 1, 3, -1, 2), {
        shape: [2, 3],
        device: device(),
      });
      const whole = await oneHot(classes, 3).toNested();
      const each = vmap((one: Tensor) => oneHot(one as Tensor<'int32'>, 3));
      expect(await (await each(classes)).toNested()).toEqual(whole);
      const columns = vmap((one: Tensor) => oneHot(one as Tensor<'int32'>, 3), {
        inAxes: 1,
        outAxes: 1,
      });
      expect(await (await columns(classes)).toNested()).toEqual(whole);
      const x = await drawn([2, 3, 3], [0, 1], 2);
      const picked = (scores: Tensor, labels: Tensor) =>
        scores.mul(oneHot(labels as Tensor<'int32'>, 3)).sum();
      const slopes = await vmap(grad(picked))(x, classes);
      expect(await slopes.toNested()).toEqual(whole);
    });

    it('may be shared by all examples, and depend on none', async () => {
      const x = await examples();
      const bias = await drawn([3], [0, 1], 5);
      const run = vmap(
        (one: Tensor, shared: Tensor, scale: number) => ({
          sum: one.add(shared).mul(scale),
          same: shared.mul(2),
          kept: shared,
        }),
        { inAxes: [0, null, null], outAxes: { sum: 1, same: 0, kept: null } },
      );
      const { sum, same, kept } = await run(x, bias, 3);
      expect([sum.shape, same.shape, kept.shape]).toEqual([[3, 4], [4, 3], [3]]);
      const transposed = await x.add(bias).mul(3).transpose().contiguous();
      expectClose(await numbers(sum), await numbers(transposed), 1e-14);
      expectClose(await numbers(same), await numbers(await bias.mul(2).broadcastTo([4, 3])), 0);
      expect(kept).not.toBe(bias);
      expectClose(await numbers(kept), await numbers(bias), 0);
    });

    it('are trees, whose parts have axes of their own', async () => {
      const x = await examples();
      const w = await drawn([3, 4], [0, 1], 6);
      const layer = { w, others: [x, x] } as const;
      const run = vmap((one: typeof layer) => [one.w.mul(one.others[0]), one.others[1].sum()], {
        inAxes: [{ w: 1, others: [0, null] }],
      });
      const [product, total] = await run(layer);
      const expected = await w.transpose().mul(x);
      expectClose(await numbers(product as Tensor), await numbers(expected), 1e-14);
      const sum = await x.sum().item();
      expectClose(await numbers(total as Tensor), [sum, sum, sum, sum], 1e-12);
    });

    it('have the shape of one example inside', async () => {
      const seen: unknown[] = [];
      await vmap(async (x: Tensor) => {
        const { shape, rank, size, bytes, isContiguous, dtype, label, strides } = x;
        seen.push(shape, rank, size, bytes, isContiguous, dtype, label, strides);
        const sum = x.mul(2);
        seen.push(
          (sum as unknown as Tensor).shape,
          (await sum).shape,
          String(x),
          JSON.stringify(x),
        );
        return x;
      })(await examples());
      expect(seen).toEqual([
        ...[[3], 1, 3, 24, true, 'float64', 'traced float64 [3]', [1]],
        ...[
          [3],
          [3],
          `Traced(float64 [3] on ${device().id})`,
          `{"dtype":"float64","shape":[3],"device":"${device().id}"}`,
        ],
      ]);
    });

    it('may have no examples', async () => {
      const x = await zeros([0, 3], { ...on(), dtype: 'float64' });
      const y = await vmap(grad(f))(x);
      expect(y.shape).toEqual([0, 3]);
      expect((await vmap((one: Tensor) => one.reshape([-1, 1]))(x)).shape).toEqual([0, 3, 1]);
      // what is called for one example after the other
      const doubled = customVjp(
        (one: Tensor) => one.slice([0, 2]).mul(2),
        (g) => [g.pad([0, 1])],
      );
      expect((await vmap(doubled)(x)).shape).toEqual([0, 2]);
    });

    it('is the same value twice, or a view of an argument, in memory of its own', async () => {
      const x = await examples();
      const [a, b, view] = await vmap((one: Tensor) => {
        const twice = one.mul(2);
        return [twice, twice, one.slice([1, null])];
      })(x);
      (a as unknown as Tensor).dispose();
      expectClose(await numbers(b as unknown as Tensor), await numbers(await x.mul(2)), 0);
      await x.fill(0);
      expect(Number(await (view as unknown as Tensor).min().item())).toBeGreaterThan(0);
    });
  });

  describe('vmap with other transforms', () => {
    it('gives the derivatives of each example', async () => {
      const x = await examples();
      await expectLoop(vmap(grad(f))(x), grad(f), x);
      const { value, grad: gradient } = await vmap(valueAndGrad(f))(x);
      await expectLoop(Promise.resolve(value), f, x);
      await expectLoop(Promise.resolve(gradient), grad(f), x);
      await expectLoop(vmap(hessian(f))(x), hessian(f), x);
      const softmax = async (one: Tensor): Promise<Tensor> => one.softmax();
      await expectLoop(vmap(jacobian(softmax))(x), jacobian(softmax), x);
      const along = async (one: Tensor): Promise<Tensor> => hvp(f)(one, one.mul(2) as never);
      await expectLoop(vmap(along)(x), along, x);
      const tangent = async (one: Tensor): Promise<Tensor> =>
        (await jvp(async (y: Tensor) => f(y))([one], [one])).tangent;
      await expectLoop(vmap(tangent)(x), tangent, x);
      const linear = async (one: Tensor): Promise<Tensor> => {
        const { value: y, push, dispose } = await linearize(softmax)(one);
        const pushed = await push(one);
        dispose();
        return pushed.add(y);
      };
      await expectLoop(vmap(linear)(x), linear, x);
      const pulled = async (one: Tensor): Promise<Tensor> => {
        const { value: y, pull, dispose } = await vjp(softmax)(one);
        const [g] = [await pull(y.add(1))];
        dispose();
        return g;
      };
      await expectLoop(vmap(pulled)(x), pulled, x);
    });

    it('is differentiated, to any order and forwards too', async () => {
      const x = await examples();
      const total = async (all: Tensor): Promise<Tensor> => (await vmap(f)(all)).square().sum();
      const direct = async (all: Tensor): Promise<Tensor> => (await loop(f, all)).square().sum();
      const pairs = [
        [grad(total), grad(direct)],
        [hessian(total), hessian(direct)],
        [
          async (all: Tensor) => (await jvp(total)([all], [all])).tangent,
          async (all: Tensor) => (await jvp(direct)([all], [all])).tangent,
        ],
      ] as const;
      for (const [mapped, expected] of pairs)
        expectClose(await numbers(await mapped(x)), await numbers(await expected(x)), 1e-10);
    });

    it('is mapped itself, and may use values of the outer map', async () => {
      const x = await drawn([2, 4, 3], [0.5, 1.5], 4);
      const inner = async (rows: Tensor): Promise<Tensor> => {
        const mean = rows.mean(0);
        return vmap((row: Tensor) => row.sub(mean).mul(row.sum()))(rows);
      };
      await expectLoop(vmap(inner)(x), inner, x);
      await expectLoop(vmap(vmap(grad(f)))(x), vmap(grad(f)), x);
      // all pairs of rows
      const pairs = vmap(
        vmap((a: Tensor, b: Tensor) => a.mul(b).sum(), { inAxes: [null, 0] }),
        { inAxes: [0, null] },
      );
      const [rows] = x.split(2);
      const one = rows?.reshape([4, 3]) as Tensor;
      const products = await one.reshape([4, 1, 3]).mul(one).sum(2);
      expectClose(await numbers(await pairs(one, one)), await numbers(products), 1e-14);
    });

    it('maps rules of the user, checkpoint, scan and constants', async () => {
      const x = await examples();
      const vjpRule = customVjp(
        (one: Tensor) => one.square(),
        (g, { args: [one] }) => [g.mul(one).mul(5)],
      );
      const jvpRule = customJvp(
        (one: Tensor) => one.square(),
        ([t], { args: [one] }) => one.mul(t).mul(7),
      );
      const again = checkpoint((one: Tensor) => one.softmax());
      const scanned = async (one: Tensor): Promise<Tensor> =>
        (
          await scan(
            async (c: Tensor, v: Tensor) => [await c.mul(v).sin(), v],
            await one.sum(),
            one,
          )
        ).carry;
      const functions = [
        vjpRule,
        jvpRule,
        again,
        scanned,
        (one: Tensor) => stopGradient(one).mul(one),
      ];
      for (const g of functions) {
        const loss = async (one: Tensor): Promise<Tensor> => (await g(one)).square().sum();
        await expectLoop(vmap(g)(x), g, x);
        await expectLoop(vmap(grad(loss))(x), grad(loss), x);
        const total = grad(async (all: Tensor) => (await vmap(loss)(all)).sum());
        await expectLoop(total(x), grad(loss), x);
      }
    });

    it('sums the cotangents of what all examples share, by a rule of the user', async () => {
      const x = await examples();
      const w = await drawn([3], [0.5, 1.5], 4);
      const scaled = (rule: (g: Tensor, one: Tensor) => PromiseLike<Tensor>) =>
        customVjp(
          (one: Tensor, by: Tensor) => one.mul(by),
          (g, { args: [one] }) => [undefined, rule(g, one)],
        );
      const rules = {
        'which depends on the example': scaled((g, one) => g.mul(one).mul(3)),
        'which depends on no example': scaled(() => w.mul(2)),
      };
      for (const [name, rule] of Object.entries(rules)) {
        const total = async (by: Tensor): Promise<Tensor> =>
          (await vmap(rule, { inAxes: [0, null] })(x, by)).sum();
        const one = (example: Tensor) =>
          grad(async (by: Tensor) => (await rule(example, by)).sum())(w);
        const each = await loop(one, x);
        const given = await grad(total)(w);
        expect([name, given.shape]).toEqual([name, [3]]);
        expectClose(await numbers(given), await numbers(await each.sum(0)), 1e-12);
      }
    });

    it('gives per-example gradients of a network that are those of a loop', async () => {
      const { loss, weights, x, y } = await network();
      const each = await vmap(grad(loss), { inAxes: [null, 0, 0] })(weights, x, y);
      for (let k = 0; k < 5; k++) {
        const one = await grad(loss)(weights, x.slice(k), y.slice(k));
        for (const name of ['w', 'b', 'v'] as const)
          expectClose(await numbers(each[name].slice(k)), await numbers(one[name]), 1e-12);
      }
    });
  });

  /** A network of one hidden layer with its loss of one example. */
  async function network() {
    const weights = {
      w: await drawn([4, 3], [-1, 1], 1),
      b: await drawn([4], [-1, 1], 2),
      v: await drawn([4], [-1, 1], 3),
    };
    const loss = (p: typeof weights, x: Tensor, y: Tensor): PromiseLike<Tensor> =>
      p.w.mul(x).sum(1).add(p.b).tanh().mul(p.v).sum().sub(y).square();
    return { weights, loss, x: await drawn([5, 3], [-1, 1], 4), y: await drawn([5], [-1, 1], 5) };
  }

  describe('vmap refuses', () => {
    const refusal = async (call: () => Promise<unknown>): Promise<string> => {
      const error = await call().then(
        () => new Error('nothing was refused'),
        (one: unknown) => one as Error & { readonly code?: string },
      );
      return `${(error as { code?: string }).code} ${error.message}`;
    };

    it('arguments that do not fit, and names them', async () => {
      const x = await examples();
      const two = async (a: Tensor, b: Tensor): Promise<Tensor> => a.add(b.sum());
      const five = await zeros([5, 3], on());
      const scalar = await zeros([], on());
      expect({
        sizes: await refusal(() => vmap(two)(x, five)),
        nested: await refusal(() =>
          vmap(async (t: { a: Tensor; b: Tensor[] }) => t.a)({ a: x, b: [five] }),
        ),
        scalar: await refusal(() => vmap(two)(x, scalar)),
        axis: await refusal(() => vmap(two, { inAxes: [0, 2] })(x, five)),
        count: await refusal(() => vmap(two, { inAxes: [0] })(x, x)),
        nothing: await refusal(() => vmap(two, { inAxes: null })(x, x)),
        tree: await refusal(() => vmap(two, { inAxes: [0, { a: 0 }] })(x, x)),
        number: await refusal(() => vmap(async (a: Tensor, s: number) => a.mul(s))(x, 2)),
        value: await refusal(() => vmap((a: Tensor) => [a, 2] as never)(x)),
        outAxes: await refusal(() => vmap(async (a: Tensor) => a, { outAxes: 2 })(x)),
        shared: await refusal(() => vmap(async (a: Tensor) => a, { outAxes: null })(x)),
        option: await refusal(async () => vmap(f, { inaxes: 0 } as never)),
      }).toMatchInlineSnapshot(`
        {
          "axis": "INVALID_ARGUMENT vmap: argument 1: axis 2 of shape [5, 3]. Use -2 to 1.",
          "count": "INVALID_ARGUMENT vmap: inAxes has 1 entries for 2 arguments. Give one for each, null for what is not mapped.",
          "nested": "SHAPE_MISMATCH vmap: argument 0.a has shape [4, 3] with 4 examples along axis 0, and argument 0.b[0] has shape [5, 3] with 5 examples along axis 0. Pass as many examples in each, or null in inAxes for what all share.",
          "nothing": "INVALID_ARGUMENT vmap: no tensor of the arguments is mapped. Name an axis of at least one in inAxes.",
          "number": "INVALID_ARGUMENT vmap: argument 1 is 2. Pass a tensor, or arrays and objects of tensors, or null for it in inAxes.",
          "option": "INVALID_ARGUMENT vmap: there is no option 'inaxes'. Did you mean 'inAxes'? The options are inAxes, outAxes.",
          "outAxes": "INVALID_ARGUMENT vmap: the value, outAxes: axis 2 of shape [3] of examples. Use -2 to 1.",
          "scalar": "SHAPE_MISMATCH vmap: argument 1 has no axis along which examples lie. Pass null for it in inAxes where all share it.",
          "shared": "INVALID_ARGUMENT vmap: the value depends on the examples, and outAxes is null for it. Give an axis, such as 0.",
          "sizes": "SHAPE_MISMATCH vmap: argument 0 has shape [4, 3] with 4 examples along axis 0, and argument 1 has shape [5, 3] with 5 examples along axis 0. Pass as many examples in each, or null in inAxes for what all share.",
          "tree": "INVALID_ARGUMENT vmap: inAxes of argument 1 is an object. Give an axis such as 0, null for what is not mapped, or a tree of them with the names of that of the tensors.",
          "value": "INVALID_ARGUMENT vmap: the value[1] is 2. Return tensors, or arrays and objects of tensors.",
        }
      `);
    });

    it('to read elements, of the value and of one that an inner derivative traces', async () => {
      const x = await examples();
      for (const method of ['item', 'toNested', 'toTypedArray', 'print'] as const) {
        const read = async (one: Tensor): Promise<Tensor> => {
          await (one.sum() as never as Record<string, () => Promise<unknown>>)[method]?.();
          return one.sum();
        };
        expect(await refusal(() => vmap(read)(x))).toMatch(`MAPPED ${method}: inside vmap`);
        expect(await refusal(() => vmap(grad(read))(x))).toMatch(`MAPPED ${method}: inside vmap`);
      }
    });

    it('to write, results of several shapes, and values when it has ended', async () => {
      const x = await examples();
      expect(await codeOf(async () => vmap(async (one: Tensor) => one.fill(1))(x))).toBe(
        'NOT_DIFFERENTIABLE',
      );
      const out = await zeros([3], { ...on(), dtype: 'float64' });
      expect(
        await codeOf(async () => vmap(async (one: Tensor) => one.mul(2, { out: out }))(x)),
      ).toBe('NOT_DIFFERENTIABLE');
      const chosen = vmap(async (one: Tensor) => one.compress(one.gt(1), 0));
      expect(await refusal(() => chosen(x))).toMatch('MAPPED');
      let calls = 0;
      const some = differentiable(
        'some',
        async (one: Tensor): Promise<Tensor> => one.slice([0, 1 + (calls++ % 2)]),
        'constant',
      );
      expect(await refusal(() => vmap(some)(x))).toMatch(
        'SHAPE_MISMATCH some: inside vmap its examples give results of shapes [1] and [2]',
      );
      const counted = differentiable(
        'counted',
        async (one: Tensor) => ({ one: one.mul(2) as never as Tensor, calls: calls++ }),
        'constant',
      );
      expect(await refusal(() => vmap(async (one: Tensor) => (await counted(one)).one)(x))).toMatch(
        /UNSUPPORTED counted: inside vmap its examples give \d and \d/,
      );
      let escaped: Tensor | undefined;
      await vmap((one: Tensor) => (escaped = one))(x);
      expect(await codeOf(async () => escaped?.mul(2))).toBe('ESCAPED');
    });
  });

  describe('vmap keeps no memory', () => {
    it('in many calls, of f that throws and of derivatives', async () => {
      const x = await drawn([3, 2], [0, 1], 1);
      const throwing = async (one: Tensor): Promise<Tensor> => {
        await one.mul(2).sum();
        throw new Error('inside');
      };
      const scale = customVjp(
        (one: Tensor) => one.mul(2),
        (g) => [g.mul(2)],
      );
      const inside = async (one: Tensor): Promise<Tensor> =>
        where(one.gt(0.5), scale(one), one.sum())
          .sum()
          .add(stack([one, one]).sum());
      const run = async (): Promise<void> => {
        (await vmap(grad(inside))(x)).dispose();
        (await grad(async (all: Tensor) => (await vmap(inside)(all)).sum())(x)).dispose();
        (
          await vmap(async (one: Tensor) => one.transpose(), { inAxes: 1, outAxes: 1 })(x)
        ).dispose();
        await expect(vmap(throwing)(x)).rejects.toThrow('inside');
      };
      await run();
      const kept = await memoryKept(device(), async () => {
        for (let k = 0; k < 250; k++) await run();
      });
      expect(kept).toEqual(NOTHING);
    });
  });
}
