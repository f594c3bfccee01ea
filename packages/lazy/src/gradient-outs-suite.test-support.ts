import { empty, full, MercerError, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  gradient,
  LazyError,
  lazyI,
  lazyJ,
  valueAndGradients,
  type GradientsOut,
  type LazyReduction,
  type LazyTensor,
} from './index.js';

const X = [[1], [5]];
const Y = [[1], [2], [4]];

/** Gradients, and values beside them, in tensors of the caller's: written whole, or not at all. */
export function describeGradientOuts(device: () => Device): void {
  describe('out of gradients', () => {
    interface Problem {
      readonly x: LazyTensor<'float64'>;
      readonly y: LazyTensor<'float64'>;
      readonly data: Tensor<'float64'>;
      readonly other: Tensor<'float64'>;
      readonly energy: LazyReduction<'Sum', 'float64'>;
    }
    const place = (): { device: Device; dtype: 'float64' } => ({
      device: device(),
      dtype: 'float64',
    });
    const problem = async (): Promise<Problem> => {
      const [data, other] = [await tensor(X, place()), await tensor(Y, place())];
      const [x, y] = [lazyI(data, { name: 'x' }), lazyJ(other, { name: 'y' })];
      return { x, y, data, other, energy: x.sqdist(y).reduction('Sum', 'j') };
    };
    // Of sum_j (x - y)^2: 2 sum_j (x - y) by x, -2 sum_i (x - y) by y.
    const [sums, byX, byY] = [
      [[10], [26]],
      [[-8], [16]],
      [[-8], [-4], [4]],
    ];

    it('are written and given back, with any strides', async () => {
      const { x, y, energy } = await problem();
      const ones = await tensor([[1], [1]], place());
      const out = full([2, 1], -1, place());
      expect(await gradient(energy, x, ones, { out: await out })).toBe(await out);
      expect(await (await out).toNested()).toEqual(byX);
      const wide = await full([2, 2], -1, place());
      const value = wide.slice(null, [0, 1]);
      const upside = (await full([3, 1], -1, place())).slice([null, null, -1]);
      const all = await valueAndGradients(
        energy,
        { x, y },
        { out: { value, gradients: { y: upside } } },
      );
      expect(all.value).toBe(value);
      expect(all.gradients.y).toBe(upside);
      expect(await wide.toNested()).toEqual(sums.map(([sum]) => [sum, -1]));
      expect(await all.gradients.x.toNested()).toEqual(byX);
      expect(await upside.toNested()).toEqual(byY);
    });

    it('take parts of values with indices, and the shape of the data', async () => {
      const data = await tensor([[[1]], [[5]]], place()); // (M, 1, 1)
      const [{ lazy }, y] = [await import('./index.js'), lazyJ(await tensor(Y, place()))];
      const x = lazy(data);
      const near = x.sqdist(y).reduction('MinArgMin', 'j');
      const indices = empty([2, 1], { device: device(), dtype: 'int32' });
      const out = empty([2, 1, 1], place());
      const found = await valueAndGradients(
        near,
        { x },
        { out: { value: { indices } as never, gradients: { x: out } } },
      );
      expect(found.value.indices).toBe(indices);
      expect(await indices.toNested()).toEqual([[0], [2]]);
      expect(await found.value.values.toNested()).toEqual([[0], [1]]);
      expect(await out.toNested()).toEqual([[[0]], [[2]]]);
    });

    it('say where host data is placed', async () => {
      const [x, y] = [lazyI(X), lazyJ(Y)];
      const out = empty([2, 1], { device: device() });
      const found = await gradient(x.sqdist(y).reduction('LogSumExp', 'j'), x, [[1], [1]], { out });
      expect(found).toBe(out);
      expect((await out.toTypedArray()).every(Number.isFinite)).toBe(true);
    });

    // Cases replace some of what is right, which must not be written either.
    type Right = Required<GradientsOut<'Sum', 'float64'>>;
    it.each<[string, (p: Problem, right: Right) => unknown, string, RegExp]>([
      [
        'another shape',
        (_, { value, gradients }) => ({
          value,
          gradients: { ...gradients, x: empty([1, 2], place()) },
        }),
        'SHAPE_MISMATCH',
        /gradients\.x: out is .*shape \[2, 1\]/,
      ],
      [
        'another shape of the value',
        (_, right) => ({ ...right, value: empty([3, 1], place()) }),
        'SHAPE_MISMATCH',
        /valueAndGradients: value: out is/,
      ],
      [
        'another dtype',
        (_, right) => ({ ...right, gradients: { y: empty([3, 1], { device: device() }) } }),
        'DTYPE_MISMATCH',
        /gradients\.y: out is float32.*result is float64/,
      ],
      [
        'the data itself',
        ({ data }, { value, gradients }) => ({ value, gradients: { ...gradients, x: data } }),
        'OVERLAP',
        /shares memory/,
      ],
      [
        'one tensor twice',
        (_, { value, gradients }) => ({ value, gradients: { ...gradients, x: value } }),
        'OVERLAP',
        /shares memory/,
      ],
      [
        'a broadcast view',
        (_, right) => ({
          ...right,
          gradients: { x: empty([1, 1], place()).broadcastTo([2, 1]) },
        }),
        'OVERLAP',
        /several indices for one element/,
      ],
      [
        'a tensor that was disposed',
        (_, right) => {
          const gone = empty([2, 1], place());
          gone.dispose();
          return { ...right, gradients: { x: gone } };
        },
        'DISPOSED',
        /was disposed/,
      ],
      [
        'what is no tensor',
        (_, right) => ({ ...right, gradients: { x: [[0]] } }),
        'INVALID_ARGUMENT',
        /gradients\.x: out/,
      ],
      [
        'a tensor for all',
        (_, { value }) => value,
        'INVALID_ARGUMENT',
        /out: expected an object of options, got a Tensor/,
      ],
      ['null', () => null, 'INVALID_ARGUMENT', /out: expected an object of options, got null/],
      [
        'another name',
        (_, { value, gradients }) => ({ value, gradients: { ...gradients, z: value } }),
        'INVALID_ARGUMENT',
        /gradients has 'z', and there is { x, y }/,
      ],
      [
        'gradients without names',
        (_, right) => ({ ...right, gradients: 3 }),
        'INVALID_ARGUMENT',
        /out\.gradients is 3/,
      ],
      [
        'values and indices of a sum',
        (_, { value, gradients }) => ({ gradients, value: { values: value } }),
        'INVALID_ARGUMENT',
        /value: out is not a tensor/,
      ],
    ])('refuse %s, and write nothing', async (_, make, code, says) => {
      const p = await problem();
      const [value, y] = [await full([2, 1], -1, place()), await full([3, 1], -1, place())];
      const out = make(p, { value, gradients: { y } }) as never;
      const error: unknown = await valueAndGradients(p.energy, { x: p.x, y: p.y }, { out }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error instanceof LazyError || error instanceof MercerError, String(error)).toBe(true);
      expect((error as LazyError).code).toBe(code);
      expect((error as LazyError).message).toMatch(says);
      expect(await value.toNested()).toEqual([[-1], [-1]]);
      expect(await y.toNested()).toEqual([[-1], [-1], [-1]]);
      expect(await p.data.toNested()).toEqual(X);
    });

    it('are not written by a call that fails later, and nothing is kept of it', async () => {
      const { x, data } = await problem();
      const value = await full([2, 1], -1, { device: device(), dtype: 'int32' });
      const cotangent = await tensor([[1], [1]], place());
      const kept = await memoryKept(device(), async () => {
        const of = x.reduction('ArgMin', 'j');
        await expect(valueAndGradients(of, { x }, { out: { value } })).rejects.toThrow(
          /differentiate a ArgMin/,
        );
        const sum = x.reduction('Sum', 'j');
        for (const out of [data, cotangent]) {
          await expect(gradient(sum, x, cotangent, { out })).rejects.toThrow(/shares memory/);
        }
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
      expect(await value.toNested()).toEqual([[-1], [-1]]);
    });
  });
}
