import { lazyI, lazyJ } from '@mercer/lazy';
import { device, zeros, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { kernelSolve, type SolveSystemOptions } from './index.js';

const N = 50;

/** GPUs that accept launches and compute nothing: what lies where. No column is ever done. */
describe.skipIf(!nvrtcFound())(
  'operators over two GPUs behind the fake driver (skipped only without NVRTC)',
  () => {
    let devices: readonly [Device, Device];
    let b: Tensor<'float32'>;
    beforeAll(async () => {
      await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 28 });
      devices = [device('cuda:0'), device('cuda:1')];
      b = await zeros([N, 2], { device: devices[0] });
    });

    /** A solve that begins to iterate has found all where it should lie. */
    const begins = async (
      solve: (
        options: Pick<SolveSystemOptions, 'devices' | 'signal' | 'onIteration'>,
      ) => Promise<Tensor>,
    ): Promise<void> => {
      const controller = new AbortController();
      const onIteration = (): void => {
        controller.abort(new Error('enough'));
      };
      const { signal } = controller;
      await expect(solve({ devices, signal, onIteration })).rejects.toThrow('enough');
    };

    it.each([
      ['tensors of the second', () => zeros([N, 1], { device: devices[1] })],
      ['tensors of the host', () => zeros([N, 1], { device: 'cpu' })],
      ['arrays', () => Promise.resolve({ data: new Float32Array(N), shape: [N, 1] })],
    ])('take %s, and give results on the first', async (_, make) => {
      const x = (await make()) as Tensor<'float32'>;
      const kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp();
      const away = await zeros([N, 2], { device: devices[1] });
      const call = async (): Promise<void> => {
        const a = kernel.asOperator({ devices });
        expect(a.device).toBe(devices[0]);
        for (const work of [a.matvec(b), a.rmatvec(b), a.rows([1, 3]), a.dense(), a.diagonal()]) {
          using found = await work;
          expect(found.device).toBe(devices[0]);
        }
        for (const right of [b, away]) await begins((options) => kernel.solve(right, options));
      };
      await call();
      for (const one of devices) expect(await memoryKept(one, call)).toEqual(NOTHING);
    });

    it('of text take tensors of both and of the host', async () => {
      const solve = kernelSolve(
        'Exp(-SqDist(x, y)) * b',
        ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(2)'],
        'b',
        { axis: 'j' },
      );
      const x = await zeros([N, 1], { device: devices[1] });
      const y = await zeros([N, 1], { device: 'cpu' });
      await begins((options) => solve([x, y, b], options));
    });
  },
);
