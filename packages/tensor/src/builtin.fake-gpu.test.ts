import { lapack } from '@mercer/cpu-runtime';
import type { BuiltinKernel } from '@mercer/kernels';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { device } from './devices.js';

const hasNvrtc = nvrtcFound();

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1 });
});

const builtin = (entry: string): BuiltinKernel => ({
  dialect: 'builtin',
  name: entry,
  entry,
  params: [],
  geometry: () => ({ tasks: 0, chunk: 1, scratchBytes: 0 }),
});

describe.skipIf(!hasNvrtc)('a built-in function (skipped only without NVRTC)', () => {
  it('is refused on a GPU, with the way to compute it', () => {
    expect(() => device('cuda:0').loadBuiltin(builtin('gemm_float32'))).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringContaining("Move them with to('cpu')") as string,
      }),
    );
  });

  it.skipIf(!lapack.isAvailable())('is looked up once, and refused by name', () => {
    const kernel = builtin('gemm_float32');
    const loaded = device('cpu').loadBuiltin(kernel);
    expect(loaded.kernel).toBe(kernel);
    expect(device('cpu').loadBuiltin(kernel)).toBe(loaded);
    expect(() => device('cpu').loadBuiltin(builtin('nothing_float32'))).toThrow(
      expect.objectContaining({ code: 'SYMBOL_NOT_FOUND' }),
    );
  });
});
