import { device, startProfile, zeros, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { grad, vmap } from './index.js';

/** A GPU that compiles and accepts launches, but computes nothing. */
describe.skipIf(!nvrtcFound())('launches of gradients (skipped only without NVRTC)', () => {
  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  });

  /** 20 elementwise operations and their sum. */
  const loss = (x: Tensor, y: Tensor): PromiseLike<Tensor> => {
    let value: Tensor = x;
    for (let k = 0; k < 10; k++) value = value.sin().mul(y) as unknown as Tensor;
    return value.sum();
  };

  it('a chain of 20 operations is one kernel forwards, and one backwards for each variable', async () => {
    const where = { device: device('cuda:0') };
    const [x, y] = [await zeros([1000], where), await zeros([1000], where)];
    for (const argnums of [[0], [0, 1]]) {
      const run = grad(loss, { argnums });
      await run(x, y);
      const profile = startProfile();
      await run(x, y);
      expect(await profile.stop()).toHaveLength(1 + argnums.length);
    }
  });

  it('those of a network for each example are as many for 4 examples as for 256', async () => {
    const where = { device: device('cuda:0') };
    const p = {
      w: await zeros([8, 3], where),
      b: await zeros([8], where),
      v: await zeros([8], where),
    };
    const loss = (weights: typeof p, x: Tensor, y: Tensor): PromiseLike<Tensor> =>
      weights.w.mul(x).sum(1).add(weights.b).tanh().mul(weights.v).sum().sub(y).square();
    const run = vmap(grad(loss), { inAxes: [null, 0, 0] });
    const launches = async (count: number): Promise<number> => {
      const [x, y] = [await zeros([count, 3], where), await zeros([count], where)];
      await run(p, x, y);
      const profile = startProfile();
      await run(p, x, y);
      return (await profile.stop()).length;
    };
    const few = await launches(4);
    expect(few).toBeGreaterThan(0);
    expect(await launches(256)).toBe(few);
    expect(few).toMatchInlineSnapshot(`7`);
  });
});
