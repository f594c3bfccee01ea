import { type Device, device, planOf, tensor, zeros } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import {
  kernels,
  precompile,
  runKernel,
  type AnyRunKernelOptions,
  type KernelDescriptor,
} from './index.js';

const hasNvrtc = nvrtcFound();

/**
 * A GPU that compiles and accepts launches, but computes nothing: whether every kernel of a call gets the arguments that it
 * declares. What the kernels compute is the matter of their own tests and of the GPU tests.
 */
describe.skipIf(!hasNvrtc)('runKernel behind the fake driver (skipped only without NVRTC)', () => {
  let gpu: Device;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 31 });
    gpu = device('cuda:0');
  });

  it.each<[string, KernelDescriptor, AnyRunKernelOptions<'float32'>, number]>([
    ['a norm', kernels.manhattan, {}, 1],
    ['a run-time exponent', kernels.minkowski, { p: 1.3 }, 1],
    ['a parameter', kernels.gaussian, { bandwidth: 2 }, 1],
    ['a diagonal', kernels.gaussian, { bandwidth: 2, regularization: 1 }, 2],
    ['scaled rows', kernels.gaussian, { bandwidth: 2, scale: 3 }, 2],
    ['normalised rows', kernels.cosine, { regularization: 1 }, 3],
  ])('binds the arguments of %s, in every strategy', async (_, descriptor, options, launches) => {
    const strategies = new Set<string>();
    const kept = await memoryKept(gpu, async () => {
      for (const [rows, k] of [
        [1000, 64],
        [2, 3000],
        [2000, 1],
        [32, 4096],
      ] as const) {
        const x = await zeros([2, rows, k], { dtype: 'float32', device: gpu });
        const value = await tensor([1, 2], { dtype: 'float32', device: gpu });
        const columns = value.reshape([2, 1]);
        const inMemory = Object.fromEntries(
          Object.keys(options).map((name) => [name, name === 'scale' ? columns : value]),
        );
        for (const given of [options, inMemory]) {
          const lines: string[] = [];
          const debug = (line: string): number => lines.push(line);
          const result = await runKernel(descriptor, x, { ...given, debug });
          const plan = planOf(result);
          expect(plan?.kind).toBe('cuda');
          if (plan?.kind === 'cuda' && 'strategy' in plan) strategies.add(plan.strategy);
          const split = plan !== undefined && 'splitK' in plan && plan.splitK > 1;
          const expected = launches + (split ? 1 : 0);
          expect(lines.filter((line) => line.startsWith('launch'))).toHaveLength(expected);
          result.dispose();
        }
        for (const one of [columns, value, x]) one.dispose();
      }
      await gpu.synchronize();
      expect([...strategies].sort()).toEqual(['dot', 'outer', 'tile']);
    });
    expect(kept).toEqual(NOTHING);
  });

  it('compiles the ready-made descriptors in one batch', async () => {
    const { kernels: compiled } = await precompile(
      [kernels.manhattan, { descriptor: kernels.gaussian, symmetric: true }],
      {
        device: gpu,
        sizes: [{ m: 1000, n: 1000, k: 64 }],
        layouts: [
          ['row', 'row', 'row'],
          ['row', 'column', 'column'],
        ],
      },
    );
    // Two inputs: rows are copied element by element, whatever their alignment, so that the result's decides; with columns
    // all three alignments differ. One input: its one layout.
    expect(compiled).toBe(2 + 3 + 2);
  });

  it('counts kernels, not plans: one for each entry of the cache', async () => {
    const keys = new Set<string>();
    const totals = new Set<number>();
    let done = 0;
    const { kernels: compiled } = await precompile([kernels.laplace, kernels.gaussian], {
      device: gpu,
      layouts: [['row', 'row', 'row']],
      onProgress: ({ total }) => {
        totals.add(total);
        done++;
      },
      debug: (line) => {
        const key = /^(?:hit|compiled) \S+ sm_\S+ ([0-9a-f]{12})/.exec(line)?.[1];
        if (key !== undefined) keys.add(key);
      },
    });
    expect(compiled).toBe(keys.size);
    expect([...totals]).toEqual([compiled]);
    expect(done).toBe(compiled);
    // Two sizes in three alignments are planned for each, and some of the plans have one text.
    expect(compiled).toBe(2 * 2 * 2);
  });
});
