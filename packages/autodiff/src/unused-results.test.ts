import { concat, tensor, type Pending, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkpoint, grad, hvp, jvp, linearize } from './index.js';
import { untaken } from '../../tensor/test/untaken.mjs';

let x: Tensor<'float64'>;
beforeAll(async () => {
  x = await tensor(Float64Array.of(1, 2, 3, 4), { shape: [2, 2], device: 'cpu' });
});

const unused: readonly (readonly [string, (v: Tensor) => unknown])[] = [
  ['an operation that is launched', (v) => v.norm().mul(2).softmax()],
  ['one of results that are not there', (v) => concat([v.softmax(), v.sin()])],
  ['a method of such', (v) => concat([v.softmax(), v]).transpose()],
  ['parts of such', (v) => concat([v.softmax(), v]).split(2)],
  ['a reduction', (v) => v.norm()],
  ['a checkpoint', (v) => checkpoint((w: Tensor) => w.exp())(v)],
  ['an inner gradient', (v) => grad((w: Tensor) => w.square().sum())(v)],
];

describe('what a function computes and neither awaits nor uses', () => {
  describe.each([
    ['grad', (f: (v: Tensor) => Pending<Tensor>) => grad(f)(x)],
    ['jvp', (f: (v: Tensor) => Pending<Tensor>) => jvp(f)([x], [x])],
    ['hvp', (f: (v: Tensor) => Pending<Tensor>) => hvp(f)(x, x)],
    ['linearize', async (f: (v: Tensor) => Pending<Tensor>) => (await linearize(f)(x)).push(x)],
  ])('of %s', (_, transform) => {
    it.each(unused)('ends in no rejection: %s', async (_what, leave) => {
      const f = (v: Tensor): Pending<Tensor> => {
        leave(v);
        return v.square().sum();
      };
      expect(await untaken(() => transform(f))).toEqual([]);
    });

    it.each(unused)('nor where the function throws: %s', async (_what, leave) => {
      const failing = (v: Tensor): Pending<Tensor> => {
        leave(v);
        throw new Error('given up');
      };
      const work = (): Promise<void> => expect(transform(failing)).rejects.toThrow('given up');
      expect(await untaken(work)).toEqual([]);
    });
  });
});
