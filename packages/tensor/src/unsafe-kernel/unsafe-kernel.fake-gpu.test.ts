import { NvrtcError } from '@mercer/cuda-runtime';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { device, unsafeKernel, zeros, type Tensor } from '../index.js';
import { said } from '../testing/what-happens.test-support.js';
import { axpy, rowSums } from './unsafe-kernel-suite.test-support.js';

const hasNvrtc = nvrtcFound();

/** A GPU that compiles and accepts launches, but computes nothing. */
describe.skipIf(!hasNvrtc)(
  'kernels of users behind the fake driver (skipped only without NVRTC)',
  () => {
    const where = { device: 'cuda:0' } as const;
    let x: Tensor<'float32'>;

    beforeAll(async () => {
      await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 30 });
      x = await zeros([6, 50], where);
    });

    /** The launches of a call, as `debug` prints them. */
    async function launched(call: (debug: (line: string) => void) => Promise<unknown>) {
      const lines: string[] = [];
      await call((line) => {
        if (line.startsWith('launch ')) lines.push(line.replace(/ on .*?: /, ': '));
      });
      return lines;
    }

    it('are launched as their rule says, behind copies of what is not row-major', async () => {
      const kept = await memoryKept(device('cuda:0'), async () => {
        const sum = await launched(async (debug) => {
          (await axpy({ a: 2, x, y: x }, { debug })).dispose();
        });
        expect(sum).toEqual(['launch axpy: grid 3x1x1, block 128x1x1, shared 0 bytes']);
        const rows = await launched(async (debug) => {
          const { sums, largest } = await rowSums({ x: x.transpose() }, { debug });
          expect([sums.shape, sums.dtype, largest.dtype]).toEqual([[50], 'float64', 'float32']);
          sums.dispose();
          largest.dispose();
        });
        expect(rows).toHaveLength(2);
        expect(rows[1]).toBe('launch row_sums: grid 50x1x1, block 32x1x1, shared 256 bytes');
        const none = x.slice([0, 0]);
        const nothing = await launched(async (debug) => {
          (await axpy({ a: 2, x: none, y: none }, { debug })).dispose();
        });
        none.dispose();
        expect(nothing).toEqual([]);
      });
      expect(kept).toEqual(NOTHING);
    });

    it("give the compiler's message with lines of their own text", async () => {
      const broken = unsafeKernel({
        name: 'broken',
        parameters: { y: { output: 'float32' } },
        sizes: () => ({ y: [1] }),
        launch: () => ({ grid: 1, block: 1 }),
        cuda: '\n\ny[0] = nothing;',
      });
      const error: unknown = await broken({}, where).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(NvrtcError);
      expect((error as NvrtcError).log).toMatch(/broken\.cuda\(3\): error: .*nothing/);
    });

    it('refuse launches that the device cannot do', async () => {
      const launching = (launch: object) => () =>
        unsafeKernel({
          name: 'odd',
          parameters: { y: { output: 'float32' } },
          sizes: () => ({ y: [1] }),
          launch: () => ({ grid: 1, block: 1, ...launch }),
          cuda: 'y[0] = 1;',
        })({}, where);
      const messages: Record<string, string> = {};
      for (const [name, launch] of Object.entries({
        'a grid below 0': { grid: -1 },
        'a grid of four': { grid: [1, 1, 1, 1] },
        'a grid of none': { grid: [] },
        'a grid that is a text': { grid: '1' },
        'too many rows of blocks': { grid: [1, 65_536] },
        'a block of nothing': { block: 0 },
        'too many threads': { block: [64, 64] },
        'shared memory that is no count': { sharedBytes: 0.5 },
        'too much shared memory': { sharedBytes: 2 ** 20 },
        'another option': { threads: 3 },
      })) {
        messages[name] = await said(launching(launch));
      }
      expect(messages).toMatchInlineSnapshot(`
        {
          "a block of nothing": "INVALID_ARGUMENT odd: launch gave 0 as block. Give a count of threads, or up to three, together from 1 to 1024.",
          "a grid below 0": "INVALID_ARGUMENT odd: launch gave -1 as grid. Give a count of blocks, or up to three, at most 2147483647, 65535, 65535.",
          "a grid of four": "INVALID_ARGUMENT odd: launch gave [1, 1, 1, 1] as grid. Give a count of blocks, or up to three, at most 2147483647, 65535, 65535.",
          "a grid of none": "INVALID_ARGUMENT odd: launch gave [] as grid. Give a count of blocks, or up to three, at most 2147483647, 65535, 65535.",
          "a grid that is a text": "INVALID_ARGUMENT odd: launch gave "1" as grid. Give a count of blocks, or up to three, at most 2147483647, 65535, 65535.",
          "another option": "INVALID_ARGUMENT odd: launch: there is no option 'threads'. The options are grid, block, sharedBytes, tasks.",
          "shared memory that is no count": "INVALID_ARGUMENT odd: launch gave 0.5 as sharedBytes. A block of this device may have from 0 to 232448.",
          "too many rows of blocks": "INVALID_ARGUMENT odd: launch gave [1, 65536] as grid. Give a count of blocks, or up to three, at most 2147483647, 65535, 65535.",
          "too many threads": "INVALID_ARGUMENT odd: launch gave [64, 64] as block. Give a count of threads, or up to three, together from 1 to 1024.",
          "too much shared memory": "INVALID_ARGUMENT odd: launch gave 1048576 as sharedBytes. A block of this device may have from 0 to 232448.",
        }
      `);
    });

    it('does not mix devices', async () => {
      const y = await zeros([6, 50], { device: 'cuda:1' });
      expect(await said(() => axpy({ a: 1, x, y }))).toMatch(/^DEVICE_MISMATCH axpy: /);
      expect(await said(() => axpy({ a: 1, x, y: x }, { device: 'cuda:1' }))).toMatchInlineSnapshot(
        `"DEVICE_MISMATCH axpy: float32 [6, 50] tensor #n on cuda:0 and the option device is cuda:1. Leave device out, or move the tensors there."`,
      );
      y.dispose();
    });
  },
);
