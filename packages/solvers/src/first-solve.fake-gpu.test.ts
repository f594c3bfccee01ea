import { nvrtc } from '@mercer/cuda-runtime';
import { lazyI, lazyJ } from '@mercer/lazy';
import { configureJitCache, device, zeros } from '@mercer/tensor';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cg, gmres, minres, operator } from './index.js';

/** A GPU that compiles and accepts launches, but computes nothing: no column is ever done. */
describe.skipIf(!nvrtcFound())('a first solve on a GPU (skipped only without NVRTC)', () => {
  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
    await useFakeSolvers();
    configureJitCache({ mode: 'off' });
  });
  afterEach(() => void vi.restoreAllMocks());

  it('asks for all of its kernels before one of them is compiled', async () => {
    const gpu = device('cuda:0');
    const points = await zeros([1000, 3], { device: gpu });
    const b = await zeros([1000], { device: gpu });
    const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator();
    const compile = nvrtc.compile.bind(nvrtc);
    const requests: string[] = [];
    let waiting: (() => void)[] = [];
    vi.spyOn(nvrtc, 'compile').mockImplementation(async (request) => {
      requests.push(request.source);
      await new Promise<void>((resolve) => void waiting.push(resolve));
      return compile(request);
    });
    for (const [solver, kernels] of [
      [cg, 18],
      [minres, 8],
      [gmres, 17],
    ] as const) {
      requests.length = 0;
      const controller = new AbortController();
      let seen = 0;
      const onIteration = (): void => {
        if (++seen === 8) controller.abort(new Error('enough'));
      };
      const solving = solver(kernel, b, { signal: controller.signal, onIteration });
      solving.catch(() => undefined);
      await vi.waitFor(
        () => {
          expect(requests).toHaveLength(kernels);
        },
        { timeout: 30_000 },
      );
      const whole = [...waiting];
      waiting = [];
      for (const resume of whole) resume();
      await expect(solving).rejects.toThrow('enough');
      expect(requests).toHaveLength(kernels);
    }
  });

  it('calls no function of another program for it, and ends with its signal', async () => {
    const gpu = device('cuda:0');
    const b = await zeros([10, 2], { device: gpu });
    let calls = 0;
    const foreign = operator({
      shape: [10, 10],
      dtype: 'float32',
      device: gpu,
      capturable: true,
      matvec: (v) => (++calls, v.mul(2)),
      rmatvec: 'symmetric',
    });
    const counts: number[] = [];
    for (const one of [foreign.shift(1), foreign.shift(1), foreign.scale(2), foreign.scale(2)]) {
      calls = 0;
      const controller = new AbortController();
      const onIteration = (): void => {
        if (!controller.signal.aborted) counts.push(calls);
        controller.abort(new Error('enough'));
      };
      const solving = cg(one, b, { signal: controller.signal, onIteration });
      await expect(solving).rejects.toThrow('enough');
    }
    const [first] = counts;
    expect(first).toBeGreaterThan(0);
    expect(counts).toEqual(counts.map(() => first));
    const never = operator({
      shape: [10, 10],
      dtype: 'float32',
      device: gpu,
      matvec: () => new Promise<never>(() => undefined),
      rmatvec: 'symmetric',
    });
    const controller = new AbortController();
    const solving = minres(never, b, { signal: controller.signal });
    solving.catch(() => undefined);
    controller.abort(new Error('enough'));
    await expect(solving).rejects.toThrow('enough');
  });
});
