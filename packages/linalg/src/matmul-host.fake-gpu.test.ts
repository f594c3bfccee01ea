import { device, empty, tensor, type Device, type Progress } from '@mercer/tensor';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { memoryKept, NOTHING, undisposedBytes } from '../../tensor/test/memory-kept.mjs';
import {
  callsOf,
  fake,
  useFakeDriver,
  useFakeSolvers,
} from '../../cuda-runtime/test/fake-device.mjs';
import { abortedEverywhere } from '../../tensor/test/aborted-everywhere.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { HostBlock } from './cuda/host/host-matrices.js';
import { splitOnTheHost } from './host-split.test-support.js';
import { withBytesLeft } from './low-memory.test-support.js';
import { matmul } from './matmul.js';
import { matmulSuite } from './matmul-suite.test-support.js';
import { randomMatrix, rounded, times, toDense, toTensor } from './matrices.test-support.js';

const hasNvrtc = nvrtcFound();

let gpu: Device;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
  gpu = device('cuda:0');
  splitOnTheHost(gpu);
});

const cpu = () => device('cpu');

describe.skipIf(!hasNvrtc)('skipped only without NVRTC', () => {
  matmulSuite('of host memory, by a GPU behind the fake driver', cpu, {
    scatters: true,
    runs: 60,
    place: () => ({ device: gpu }),
  });

  for (const maxBytes of [4000, 30_000]) {
    matmulSuite(`of host memory, in blocks of ${maxBytes} bytes`, cpu, {
      scatters: true,
      runs: 60,
      place: () => ({ device: 'cuda', maxBytes }),
    });
  }

  matmulSuite('of host memory, in blocks', cpu, {
    scatters: true,
    runs: 60,
    precision: 'tf32x3',
    place: () => ({ device: gpu, maxBytes: 6000 }),
  });
});

describe.skipIf(!hasNvrtc)('a product of host memory (skipped only without NVRTC)', () => {
  it.each(['float32', 'tf32x3'] as const)(
    'in %s is given up between blocks, leaves nothing, and tells of each block',
    async (precision) => {
      const [left, right] = [
        await toTensor(rounded(randomMatrix(50, 90, 1), 'float32'), 'float32'),
        await toTensor(rounded(randomMatrix(90, 70, 2), 'float32'), 'float32'),
      ];
      const options = { device: gpu, maxBytes: 6000, precision } as const;
      const undisposed = (): number => undisposedBytes(gpu, cpu());
      const looks = await abortedEverywhere(
        (signal) => matmul(left, right, { ...options, signal }),
        undisposed,
      );
      expect(looks).toBeGreaterThan(10);
      const steps: Progress[] = [];
      const product = await matmul(left, right, {
        ...options,
        onProgress: (step) => steps.push(step),
      });
      expect(steps.length).toBeGreaterThan(2);
      expect(steps.map(({ done }) => done)).toEqual(steps.map((_, at) => at + 1));
      expect(steps.at(-1)).toEqual({ done: steps.length, total: steps.length });
      for (const one of [left, right, product]) one.dispose();
    },
  );

  const [m, n, k] = [50, 70, 90];
  const operands = async () => {
    const [a, b] = [randomMatrix(m, k, 1), randomMatrix(k, n, 2)].map((x) => rounded(x, 'float32'));
    return {
      a: a!,
      b: b!,
      left: await toTensor(a!, 'float32'),
      right: await toTensor(b!, 'float32'),
    };
  };

  it.each([
    [700, 'float32'],
    [3000, 'float32'],
    [40_000, 'float32'],
    [400_000, 'float32'],
    [3000, 'tf32x3'],
    [80_000, 'tf32x3'],
    [400_000, 'tf32'],
  ] as const)('stays within %i bytes of the device in %s', async (maxBytes, precision) => {
    const { a, b, left, right } = await operands();
    const kept = await memoryKept(gpu, async () => {
      const before = gpu.memory().liveBytes;
      let most = 0;
      const allocate = gpu.allocate.bind(gpu);
      const spy = vi.spyOn(gpu, 'allocate').mockImplementation((bytes, options) => {
        const storage = allocate(bytes, options);
        most = Math.max(most, gpu.memory().liveBytes - before);
        return storage;
      });
      const asked = matmul(left, right, { device: gpu, maxBytes, precision });
      if (maxBytes === 700) {
        await expect(asked).rejects.toThrow(/maxBytes is 700\. The least block takes 768 bytes/);
      } else {
        const [product] = await toDense(await asked);
        const truth = times(a, b);
        truth.data.forEach((value, i) => {
          expect(Math.abs(value - (product?.data[i] ?? NaN))).toBeLessThan(k * 2 ** -23 * k);
        });
        expect(most).toBeGreaterThan(0);
      }
      expect(most).toBeLessThanOrEqual(maxBytes);
      spy.mockRestore();
    });
    expect(kept).toEqual(NOTHING);
  });

  it('copies a block of one factor once for all blocks of the other beside it', async () => {
    const a = await toTensor(randomMatrix(8, 16, 1), 'float32');
    const b = await toTensor(randomMatrix(16, 200, 2), 'float32');
    const spy = vi.spyOn(HostBlock.prototype, 'read');
    const multiplied = await callsOf(() => matmul(a, b, { device: gpu, maxBytes: 8000 }));
    const blocks = multiplied.filter((line) => line.startsWith('matmul ')).length;
    expect(blocks).toBeGreaterThan(2);
    expect(spy).toHaveBeenCalledTimes(1 + blocks);
    spy.mockRestore();
  });

  it('waits for what the host has enqueued, and holds the matrices', async () => {
    const a = empty([64, 64], { device: 'cpu' });
    const b = await tensor(new Float32Array(64).fill(1), { shape: [64, 1], device: 'cpu' });
    await a.fill(2);
    const told: Progress[] = [];
    const onProgress = (progress: Progress): void => {
      told.push(progress);
      for (const one of [a, b]) if (!one.disposed) one.dispose();
    };
    const product = await matmul(a, b, { device: gpu, maxBytes: 4000, onProgress });
    expect(told.length).toBeGreaterThan(2);
    expect(await product.toTypedArray()).toEqual(new Float32Array(64).fill(128));
  });

  it('leaves nothing behind when it fails', async () => {
    const { left, right } = await operands();
    const kept = await memoryKept(gpu, async () => {
      fake('FAIL_CALL', 'matmul');
      fake('FAIL_STATUS', 13);
      await expect(matmul(left, right, { device: gpu, maxBytes: 3000 })).rejects.toThrow(
        expect.objectContaining({ call: 'cublasLtMatmul' }) as Error,
      );
      fake('FAIL_CALL', undefined);
    });
    expect(kept).toEqual(NOTHING);
  });

  it('is planned from what is free, and refused where that is nothing', async () => {
    const { left, right } = await operands();
    await withBytesLeft(gpu, 900, async () => {
      await expect(matmul(left, right, { device: gpu })).rejects.toThrow(
        expect.objectContaining({ code: 'OUT_OF_MEMORY' }) as Error,
      );
    });
    await withBytesLeft(gpu, 20_000, async () => {
      const lines = await callsOf(() => matmul(left, right, { device: gpu }));
      expect(lines.filter((line) => line.startsWith('matmul ')).length).toBeGreaterThan(4);
    });
  });
});

describe.skipIf(!hasNvrtc)('bad input (skipped only without NVRTC)', () => {
  const zeros = () => empty([2, 2], { device: 'cpu' });

  it.each([
    [
      'a maxBytes of 0',
      () => matmul(zeros(), zeros(), { maxBytes: 0 }),
      'INVALID_ARGUMENT',
      /maxBytes is 0/,
    ],
    [
      'half a byte',
      () => matmul(zeros(), zeros(), { maxBytes: 0.5 }),
      'INVALID_ARGUMENT',
      /whole number/,
    ],
    [
      'matrices of a GPU to be computed elsewhere',
      () => {
        const a = empty([2, 2], { device: gpu });
        return matmul(a, a, { device: 'cpu' });
      },
      'DEVICE_MISMATCH',
      /on cuda:0 and device is cpu/,
    ],
    [
      'a GPU that is not there',
      () => matmul(zeros(), zeros(), { device: 'cuda:7' }),
      'NO_BACKEND',
      /cuda:7/,
    ],
    [
      'a precision that is not there',
      () => matmul(zeros(), zeros(), { precision: 'bf16' as never }),
      'INVALID_ARGUMENT',
      /'float32' or 'tf32' or 'tf32x3'/,
    ],
    [
      'a factor of 16 bits that is brought to a GPU',
      () => {
        const a = empty([2, 2], { device: 'cpu', dtype: 'float16' });
        return matmul(a, zeros(), { device: 'cuda:0' });
      },
      'DTYPE_MISMATCH',
      /a is .*float16.*cast\('float32'\)/,
    ],
    [
      'a precision of float64',
      () => {
        const a = empty([2, 2], { device: 'cpu', dtype: 'float64' });
        return matmul(a, a, { precision: 'tf32' });
      },
      'INVALID_ARGUMENT',
      /precision is 'tf32' and the matrices are float64/,
    ],
  ] as const)('%s is refused', async (_, call, code, message) => {
    await expect(call()).rejects.toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error,
    );
  });
});
