import { isTensor, tensor, zeros, type Tensor, type Device } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { expectClose } from '../../test/differences.mjs';
import { AutodiffError, grad, jvp, valueAndGrad } from '../index.js';
import { codeOf } from '../../test/code-of.mjs';

/** Gradients, kinks, memory, and what is refused. */
export function describeGrad(device: () => Device): void {
  const on = () => ({ device: device() });

  let x: Tensor<'float64'>;

  beforeAll(async () => {
    x = await tensor(Float64Array.of(1, 2, 3), on());
  });

  describe('gradients', () => {
    it('have the shape of their trees, and the dtype of their variables', async () => {
      const layers = [
        { weight: await tensor([[1, 2]], on()), bias: await tensor(Float64Array.of(1), on()) },
        { weight: await tensor([[3]], on()), bias: await tensor(Float64Array.of(2), on()) },
      ];
      const loss = async (all: typeof layers, scale: Tensor): Promise<Tensor> => {
        let sum: Tensor = scale;
        for (const { weight, bias } of all) sum = await sum.add(weight.sum()).mul(bias.slice(0));
        return sum;
      };
      const { value, grad: found } = await valueAndGrad(loss, { argnums: [0, 1] })(
        layers,
        await tensor(1, on()),
      );
      const [ofLayers, ofScale] = found;
      expect(await value.item()).toBe(14);
      expect(ofLayers.map(({ weight, bias }) => [weight.dtype, weight.shape, bias.dtype])).toEqual([
        ['float32', [1, 2], 'float64'],
        ['float32', [1, 1], 'float64'],
      ]);
      expect(await ofLayers[0]?.weight.toNested()).toEqual([[2, 2]]);
      expect(await ofLayers[0]?.bias.toNested()).toEqual([8]);
      expect(await ofLayers[1]?.bias.toNested()).toEqual([7]);
      expect(await ofScale.item()).toBe(2);
    });

    it('take the argument that argnums names, one or several', async () => {
      const f = (a: Tensor, b: Tensor): PromiseLike<Tensor> => a.mul(b).sum();
      const y = await tensor(Float64Array.of(4, 5, 6), on());
      expect(await (await grad(f, { argnums: 1 })(x, y)).toNested()).toEqual([1, 2, 3]);
      const [first] = await grad(f, { argnums: [0] })(x, y);
      expect(await first.toNested()).toEqual([4, 5, 6]);
    });

    it('are of the branch that was taken, and of a result that is pending, awaited or promised', async () => {
      const f = async (v: Tensor): Promise<Tensor> => {
        const sum = Number(await v.sum().item());
        return sum > 5 ? v.square().sum() : v.sum();
      };
      expect(await (await grad(f)(x)).toNested()).toEqual([2, 4, 6]);
      expect(await (await grad((v: Tensor) => v.sum())(x)).toNested()).toEqual([1, 1, 1]);
      expect(await (await grad((v: Tensor) => v.slice(1))(x)).toNested()).toEqual([0, 1, 0]);
      expect(await (await grad(async (v: Tensor) => await v.mul(v).sum())(x)).toNested()).toEqual([
        2, 4, 6,
      ]);
    });

    it('of gradients: d/dx of x d/dy (x + y) is 1', async () => {
      const y = await tensor(Float64Array.of(5), on());
      const two = await tensor(Float64Array.of(2), on());
      const f = async (a: Tensor): Promise<Tensor> => {
        const inner = await grad((b: Tensor) => a.add(b))(y);
        return a.mul(inner);
      };
      expect(await (await grad(f)(two)).toNested()).toEqual([1]);
    });

    it('that await in turns do not mix', async () => {
      const slow = async (v: Tensor, power: number): Promise<Tensor> => {
        let product = v;
        for (let k = 1; k < power; k++) {
          await new Promise((resolve) => setTimeout(resolve, k % 2));
          product = await product.mul(v);
        }
        return product.sum();
      };
      const all = await Promise.all([2, 3, 4].map((power) => grad(slow)(x, power)));
      expect(await Promise.all(all.map((one) => one.toNested()))).toEqual([
        [2, 4, 6],
        [3, 12, 27],
        [4, 32, 108],
      ]);
    });

    it('of 16-bit variables are added in float32 and rounded once', async () => {
      for (const dtype of ['float16', 'bfloat16'] as const) {
        // in the dtype itself ones are added up to 2048, or 256
        const half = await (await tensor(new Float32Array(4096).fill(1), on())).cast(dtype);
        const one = await (await tensor(1, on())).cast(dtype);
        const found = await grad((w: Tensor) => w.mul(half).sum())(one);
        expect([found.dtype, await found.item()]).toEqual([dtype, 4096]);
      }
    });

    it('of float32 agree with those of float64', async () => {
      const f = (v: Tensor): PromiseLike<Tensor> => v.sin().mul(v.exp()).logSumExp();
      const [single, double] = [await grad(f)(await x.cast('float32')), await grad(f)(x)];
      expect(single.dtype).toBe('float32');
      const truth = await double.toTypedArray();
      for (const [k, one] of (await single.toTypedArray()).entries()) {
        expect(Math.abs(Number(one) - Number(truth[k]))).toBeLessThanOrEqual(
          1e-3 * Math.abs(Number(truth[k])),
        );
      }
    });

    it('share no memory with the variable, the value or one another', async () => {
      const [a, b] = await grad((v: Tensor, w: Tensor) => v.add(w).sum(), { argnums: [0, 1] })(
        x,
        x,
      );
      await a.fill(7);
      expect(await b.toNested()).toEqual([1, 1, 1]);
      expect(await (await grad((v: Tensor) => v.sum())(x)).toNested()).toEqual([1, 1, 1]);
    });

    it('of nothing are nothing', async () => {
      const none = await zeros([0, 3], on());
      expect((await grad((v: Tensor) => v.exp().sum())(none)).shape).toEqual([0, 3]);
      const row = await tensor([1, 2, 3], on());
      expect(await (await grad((v: Tensor) => none.mul(v).sum())(row)).toNested()).toEqual([
        0, 0, 0,
      ]);
    });

    it('of results that are read by gradients of others after they were freed', async () => {
      const all = await tensor(Float64Array.of(1, 2, 3, 4, 5, 6), on());
      const y = await tensor(Float64Array.of(1, 2, 3, 4, 5, 6), { ...on(), shape: [2, 3] });
      const x = all.slice([null, null, -2]);
      const f = ([a, b]: readonly [Tensor, Tensor]) =>
        a.contiguous().reshape([-1]).add(b).sin().sum();
      const [byX, byY] = await grad(f)([x, y] as const);
      const rows = [1, 2, 3, 4, 5, 6].map((one, k) => Math.cos(one + (6 - 2 * (k % 3))));
      expectClose(await byY.toTypedArray(), rows, 1e-14);
      const sums = [0, 1, 2].map((k) => (rows[k] ?? NaN) + (rows[k + 3] ?? NaN));
      expectClose(await byX.toTypedArray(), sums, 1e-14);
    });
  });

  describe('kinks', () => {
    const one = async (value: number) => tensor(Float64Array.of(value), on());
    /** The slope at a point, which is the same backwards and forwards. */
    const at0 = async (f: (v: Tensor) => PromiseLike<Tensor>, value = 0): Promise<unknown> => {
      const point = await one(value);
      const slope = await (await grad(f)(point)).toNested();
      const { tangent } = await jvp(async (v: Tensor) => f(v))([point], [await one(1)]);
      expect([await tangent.item()]).toEqual(slope);
      return slope;
    };

    it('have the slopes that are written down', async () => {
      expect(await at0((v) => v.abs().sum())).toEqual([0]);
      expect(await at0((v) => v.relu().sum())).toEqual([0]);
      expect(await at0((v) => v.sqrt().sum())).toEqual([0]);
      expect(await at0((v) => v.norm())).toEqual([0]);
      expect(await at0((v) => v.std())).toEqual([0]);
      expect(await at0((v) => v.maximum(0).sum())).toEqual([0.5]);
      expect(await at0((v) => v.minimum(0).sum())).toEqual([0.5]);
      expect(await at0((v) => v.pow(0).sum())).toEqual([0]);
      expect(await at0((v) => v.pow(2).sum())).toEqual([0]);
      const ties = await tensor(Float64Array.of(3, 1, 3), on());
      expect(await (await grad((v: Tensor) => v.max())(ties)).toNested()).toEqual([0.5, 0, 0.5]);
    });

    it('where gives nothing to what was not chosen, whatever it is', async () => {
      expect(await at0((v) => v.gt(1).where(v.log(), v.mul(2)).sum(), -1)).toEqual([2]);
      expect(await at0((v) => v.gt(0).where(v.sqrt(), v).sum())).toEqual([1]);
    });

    it('NaN stays NaN', async () => {
      expect(await at0((v) => v.mul(2).max(), NaN)).toEqual([NaN]);
      expect(await at0((v) => v.square().sum(), NaN)).toEqual([NaN]);
    });
  });

  describe('memory', () => {
    it('stays as it was, also after errors', async () => {
      const f = async (v: Tensor): Promise<Tensor> => {
        const scaled = await v.mul(2);
        scaled.dispose();
        return v.mul(v.exp()).sum(0).add(v.norm()).mul(v.slice(0).square());
      };
      const run = async (): Promise<void> => {
        const { value, grad: found } = await valueAndGrad(f)(x);
        value.dispose();
        found.dispose();
        await codeOf(() => grad((v: Tensor) => v.mul(v.sum()))(x));
        await codeOf(() =>
          grad(async (v: Tensor) => {
            await v.exp().sum();
            throw new Error('no');
          })(x),
        );
      };
      await run();
      const kept = await memoryKept(device(), async () => {
        for (let k = 0; k < 200; k++) await run();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('what f disposes is kept for its gradient', async () => {
      const f = async (v: Tensor): Promise<Tensor> => {
        using factor = await tensor(Float64Array.of(3, 4, 5), on());
        const products = await v.mul(factor);
        const sum = await products.sum();
        products.dispose();
        return sum;
      };
      expect(await (await grad(f)(x)).toNested()).toEqual([3, 4, 5]);
    });

    it('what masks read is kept where two kernels read the cotangent behind them', async () => {
      const all = async (v: Tensor, shift: Tensor): Promise<Tensor> => {
        using drawn = await tensor(Float64Array.of(1, 0, 1), on());
        using mask = drawn.ge(0.5);
        const masked = mask.where(v.cumSum(0).add(shift), 0);
        return await masked.square().sum();
      };
      const run = async (): Promise<readonly unknown[]> => {
        using shift = await tensor(Float64Array.of(1), on());
        // by v through the sums, and by the shift through a reduction
        const [ofV, ofShift] = await grad(all, { argnums: [0, 1] })(x, shift);
        const found = [await ofV.toNested(), await ofShift.toNested()];
        for (const one of [ofV, ofShift]) one.dispose();
        return found;
      };
      expect(await run()).toEqual([[18, 14, 14], [18]]);
      expect(await memoryKept(device(), run)).toEqual(NOTHING);
    });
  });

  describe('values inside', () => {
    it('are no tensors but look like them', async () => {
      let text = '';
      await grad(async (v: Tensor) => {
        expect(isTensor(v)).toBe(false);
        expect([v.shape, v.dtype, v.rank, v.size, v.bytes]).toEqual([[3], 'float64', 1, 3, 24]);
        expect(JSON.stringify(v)).toBe(`{"dtype":"float64","shape":[3],"device":"${device().id}"}`);
        text = String(v);
        await v.ready();
        return v.sum();
      })(x);
      expect(text).toBe(`Traced(float64 [3] on ${device().id})`);
    });
  });

  describe('bad input', () => {
    it.each<readonly [string, string, () => Promise<unknown>]>([
      ['a value that is no scalar', 'NOT_SCALAR', () => grad((v: Tensor) => v.mul(2))(x)],
      ['a value of numbers', 'INVALID_ARGUMENT', () => grad((async () => 3) as never)()],
      ['nothing used', 'INDEPENDENT', () => grad(async (_: Tensor) => tensor(1, on()))(x)],
      [
        'a value read and calculated with',
        'INDEPENDENT',
        () => grad(async (v: Tensor) => tensor(Number(await v.sum().item()), on()))(x),
      ],
      [
        'whole numbers',
        'DTYPE_MISMATCH',
        async () => grad((v: Tensor) => v.sum())(await tensor(Int32Array.of(1), on())),
      ],
      ['a number', 'INVALID_ARGUMENT', () => grad((v: number) => x.mul(v).sum())(3)],
      ['an object of nothing', 'INVALID_ARGUMENT', () => grad((_: object) => x.sum())({})],
      ['an empty list', 'INVALID_ARGUMENT', () => grad((_: readonly Tensor[]) => x.sum())([])],
      [
        'an object that is part of itself',
        'INVALID_ARGUMENT',
        () => {
          const around: { x: Tensor; self?: object } = { x };
          around.self = around;
          return grad((v: { readonly x: Tensor }) => v.x.sum())(around);
        },
      ],
      ['no function', 'INVALID_ARGUMENT', async () => grad(3 as never)],
      [
        'an option that is none',
        'INVALID_ARGUMENT',
        async () => grad(() => x, { argnum: 1 } as never),
      ],
      [
        'an argument that is not there',
        'INVALID_ARGUMENT',
        () => grad((_: Tensor) => x, { argnums: 1 } as object)(x),
      ],
      [
        'an argument named twice',
        'INVALID_ARGUMENT',
        () => grad((v: Tensor) => v.sum(), { argnums: [0, 0] })(x),
      ],
      [
        'no argument named',
        'INVALID_ARGUMENT',
        () => grad((v: Tensor) => v.sum(), { argnums: [] })(x),
      ],
      [
        'allowUnused that is no boolean',
        'INVALID_ARGUMENT',
        async () => grad((v: Tensor) => v.sum(), { allowUnused: 1 as never }),
      ],
      [
        'an operation without a rule',
        'NOT_DIFFERENTIABLE',
        () => grad(async (v: Tensor) => (await zeros([3], on())).copyFrom(v))(x),
      ],
      [
        'a value that is overwritten',
        'NOT_DIFFERENTIABLE',
        () => grad(async (v: Tensor) => (await v.fill(1)).sum())(x),
      ],
      ['an output', 'NOT_DIFFERENTIABLE', () => grad((v: Tensor) => v.mul(2, { out: x }).sum())(x)],
      [
        'a disposed input',
        'DISPOSED',
        async () => {
          const gone = await tensor(1, on());
          gone.dispose();
          return grad((v: Tensor) => v.mul(2))(gone);
        },
      ],
      [
        'a disposed value inside',
        'DISPOSED',
        () =>
          grad((v: Tensor) => {
            v.dispose();
            return v.sum();
          })(x),
      ],
    ])('%s: %s', async (_, code, work) => {
      expect(await codeOf(work)).toBe(code);
    });

    it('values that escape are refused', async () => {
      let escaped: Tensor | undefined;
      await grad((v: Tensor) => {
        escaped = v;
        return v.sum();
      })(x);
      const after = async (): Promise<unknown> => escaped?.mul(2);
      await expect(after()).rejects.toThrow(/^mul: the value is traced by a grad that has ended/);
      await expect(after()).rejects.toBeInstanceOf(AutodiffError);
      expect(await codeOf(async () => escaped?.toNested())).toBe('ESCAPED');
    });

    it('a tensor that was written before the gradient is computed is refused', async () => {
      const weights = await tensor(Float64Array.of(1, 2, 3), on());
      const f = async (v: Tensor): Promise<Tensor> => {
        const sum = await v.mul(weights).sum();
        await weights.fill(9);
        return sum;
      };
      expect(await codeOf(() => grad(f)(x))).toBe('MODIFIED');
    });

    it('with allowUnused, zeros', async () => {
      const whole = await tensor(Int32Array.of(1, 2), on());
      const f = (a: Tensor, b: Tensor, c: Tensor): PromiseLike<Tensor> => a.sum().add(c.sum());
      const all = await grad(f, { argnums: [0, 1, 2], allowUnused: true })(x, x, whole);
      expect(await Promise.all(all.map((one) => one.toNested()))).toEqual([
        [1, 1, 1],
        [0, 0, 0],
        [0, 0],
      ]);
      expect(all[2].dtype).toBe('int32');
    });

    it('messages say what to do', async () => {
      await expect(grad((v: Tensor) => v.mul(2))(x)).rejects.toThrow(
        'grad: the function gave float64 [3], and a gradient is of a value with one element. Reduce it, as with sum(), or use vjp() and choose the cotangent.',
      );
      await expect(grad(async (_: Tensor) => tensor(1, on()))(x)).rejects.toThrow(
        'grad: argument 0: the value does not depend on it. Use the variable, name other arguments with argnums, or pass { allowUnused: true } for zeros.',
      );
    });
  });
}
