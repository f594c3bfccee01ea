import { grad, valueAndGrad } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { device, startProfile, type Tensor as AnyTensor } from '@mercer/tensor';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { drawn } from '../../autodiff/test/differences.mjs';
import { describeLazyDerivatives } from './testing/lazy-derivatives-suite.test-support.js';

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

type Tensor = AnyTensor<'float64'>;

describeLazyDerivatives(() => device('cpu'));

describe('what derivatives cost', () => {
  /** How many reductions each pass over pairs has. */
  const passes = async (work: () => Promise<unknown>): Promise<number[]> => {
    const profile = startProfile();
    await work();
    const names = (await profile.stop()).map(({ name }) => name);
    return names
      .filter((name) => name.startsWith('map-reduce'))
      .map((name) => name.split(' over ')[0]?.split('+').length ?? 0);
  };

  it('a sum and its gradients are the passes of valueAndGradients', async () => {
    const [x, y] = [await drawn([5, 3], [-1, 1], 1), await drawn([4, 3], [-1, 1], 2)];
    const f = (v: Tensor, w: Tensor) =>
      lazyI(v).sqdist(lazyJ(w)).neg().exp().sum('j').square().sum();
    expect(await passes(() => valueAndGrad(f)(x, y))).toEqual([2]);
    expect(await passes(() => valueAndGrad(f, { argnums: [0, 1] })(x, y))).toEqual([2, 1]);
  });

  it('nothing is computed for derivatives of an order that nobody takes', async () => {
    const [x, y] = [await drawn([5, 1], [-1, 1], 1), await drawn([4, 1], [-1, 1], 2)];
    const f = (v: Tensor, w: Tensor) => lazyI(v).mul(lazyJ(w)).sin().mean('j').sum();
    expect(await passes(() => grad(f, { argnums: [0, 1] })(x, y))).toEqual([1, 1, 1]);
  });
});
