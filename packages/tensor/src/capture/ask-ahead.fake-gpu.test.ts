import { CudaFunction, nvrtc } from '@mercer/cuda-runtime';
import { add, mul, variable, type RealExpr } from '@mercer/formula';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { undisposedBytes } from '../../test/memory-kept.mjs';
import { configureJitCache } from '../jit.js';
import { device, map, zeros, type Device, type Tensor } from '../index.js';
import { askAhead } from './ask-ahead.js';
import { captured } from './capture-calls.js';

const { compile } = nvrtc;
const X = variable('x');

/** A GPU that compiles and accepts launches, but computes nothing. */
describe.skipIf(!nvrtcFound())(
  'kernels that are asked for ahead (skipped only without NVRTC)',
  () => {
    let gpu: Device;
    let x: Tensor<'float32'>;
    let number = 0;
    /** A formula that no test before had. */
    const fresh = (): RealExpr => add(mul(X, X), ++number);
    const launches = vi.spyOn(CudaFunction.prototype, 'enqueue');
    const requests = vi.spyOn(nvrtc, 'compile');

    beforeAll(async () => {
      await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
      configureJitCache({ mode: 'off' });
      gpu = device('cuda:0');
      x = await zeros([1000], { device: gpu });
    });

    beforeEach(() => {
      launches.mockClear();
      requests.mockReset().mockImplementation((request) => compile(request));
    });

    /** Three kernels, each of which needs what the one before gives. */
    const chained = async (first: RealExpr, then: RealExpr): Promise<Tensor> => {
      using a = await map(first, { x });
      using b = await map(then, { x: a });
      return await b.sum(0);
    };

    it('are all requested before one is there, and nothing is launched, kept or remembered', async () => {
      const formulas = [fresh(), fresh()] as const;
      let compiling = 0;
      let resume = (): void => undefined;
      const gate = new Promise<void>((resolve) => (resume = resolve));
      requests.mockImplementation(async (request) => {
        compiling++;
        await gate;
        return compile(request);
      });
      const before = undisposedBytes(gpu);
      await askAhead(gpu, 'chained', async () => {
        (await chained(...formulas)).dispose();
      });
      await vi.waitFor(() => {
        expect(compiling).toBe(3);
      });
      expect(launches).not.toHaveBeenCalled();
      expect(undisposedBytes(gpu)).toBe(before);
      const work = [chained(...formulas), chained(...formulas)];
      resume();
      for (const one of await Promise.all(work)) one.dispose();
      (await chained(...formulas)).dispose();
      expect(launches).toHaveBeenCalledTimes(9);
      expect(requests).toHaveBeenCalledTimes(3);
    });

    it('are asked for once, and launch nothing where they are there already', async () => {
      const formulas = [fresh(), fresh()] as const;
      (await chained(...formulas)).dispose();
      launches.mockClear();
      const work = vi.fn(async () => {
        (await chained(...formulas)).dispose();
      });
      await askAhead(gpu, 'known', work);
      await askAhead(gpu, 'known', work);
      expect(work).toHaveBeenCalledTimes(1);
      expect(launches).not.toHaveBeenCalled();
    });

    it('end where a call is prepared, which later calls would launch', async () => {
      const f = fresh();
      const prepared = vi.fn();
      await askAhead(gpu, 'prepares', async () => {
        await map.prepare(f, { x });
        prepared();
      });
      expect(prepared).not.toHaveBeenCalled();
      const call = await map.prepare(f, { x });
      call({ x }).dispose();
      expect(launches).toHaveBeenCalledTimes(1);
    });

    it('are not told of errors, which the work itself tells', async () => {
      const read = vi.fn();
      await askAhead(gpu, 'reads', async () => {
        await x.toTypedArray();
        read();
      });
      expect(read).not.toHaveBeenCalled();
      requests.mockRejectedValue(new Error('out of ideas'));
      const formula = fresh();
      const work = async (): Promise<void> => {
        (await map(formula, { x })).dispose();
      };
      await askAhead(gpu, 'fails', work);
      await expect(work()).rejects.toThrow('out of ideas');
      requests.mockReset().mockImplementation((request) => compile(request));
      await work();
      expect(launches).toHaveBeenCalledTimes(1);
    });

    it('are asked for neither on a CPU nor where a function is prepared', async () => {
      const work = vi.fn(() => Promise.resolve());
      await askAhead(device('cpu'), 'elsewhere', work);
      const replay = await captured(
        async ([given]) => {
          await askAhead(gpu, 'prepared', work);
          return [await map(X, { x: given! })];
        },
        [x],
      );
      replay.dispose();
      expect(work).not.toHaveBeenCalled();
    });
  },
);
