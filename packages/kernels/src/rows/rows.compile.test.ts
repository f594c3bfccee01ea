import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test.helper.js';
import { defaultRowsKernels } from './default-rows.js';

useNvrtc();
const available = nvrtc.isAvailable();
const kernels = defaultRowsKernels(H200);

/** Bytes that float64 kernels keep in memory around a division, which is a call in fixed registers. */
const AROUND_CALLS = 64;

describe.skipIf(!available)(
  'row preparation through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120', 'sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'compiles for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        const some =
          arch === 'sm_90a' || arch === 'sm_120' ? kernels : kernels.filter((_, i) => i % 4 === 2);
        const complaints: string[] = [];
        for (const { name, kernel } of some) {
          const options = [`--gpu-architecture=${arch}`, '--ptxas-options=-v'];
          const { log } = await nvrtc.compile({ source: kernel.source, options });
          expect(log).toContain('registers');
          for (const line of log.split('\n')) {
            const spilled = Number(/(\d+) bytes spill stores/.exec(line)?.[1] ?? 0);
            const allowed = name.includes('float64') ? AROUND_CALLS : 0;
            if (spilled > allowed || line.includes('warning')) {
              complaints.push(`${name}: ${line.trim()}`);
            }
          }
        }
        expect(complaints).toEqual([]);
      },
    );
  },
);
