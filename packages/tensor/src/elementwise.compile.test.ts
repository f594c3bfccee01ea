import { nvrtc } from '@mercer/cuda-runtime';
import { emitCopy, type CudaKernel } from '@mercer/kernels';
import { describe, expect, it } from 'vitest';
import { useNvrtc } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { defaultElementwisePlans } from '../../kernels/test/default-kernels.mjs';

/* Every text of the elementwise family through the real compiler; needs no GPU. */

useNvrtc();

const kernels: CudaKernel[] = defaultElementwisePlans().map((plan) => emitCopy(plan, 'cuda'));
/** One text of each mode. */
const samples = kernels.filter(({ entry }) =>
  /f32_f16_(linear|strided|tiled)|fill_b64_/.test(entry),
);

async function compile(kernel: CudaKernel, arch: string): Promise<string> {
  const { binary, log } = await nvrtc.compile({
    source: kernel.source,
    fileName: `${kernel.entry}.cu`,
    options: ['--std=c++17', `--gpu-architecture=${arch}`],
    nameExpressions: [],
    output: 'cubin',
  });
  expect(binary.length).toBeGreaterThan(500);
  return log;
}

describe.skipIf(!nvrtc.isAvailable())(
  'elementwise kernels compile without a warning (skipped only where NVRTC is not found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    it.each(['sm_90a', 'sm_120'])('all for %s', { timeout: 300_000 }, async (arch) => {
      const logs = await Promise.all(kernels.map((kernel) => compile(kernel, arch)));
      expect(logs.filter((log) => log !== '')).toEqual([]);
      expect(logs.length).toBeGreaterThan(200);
    });

    it.each(['sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'one of each mode for %s',
      { timeout: 120_000 },
      async (arch) => {
        const logs = await Promise.all(samples.map((kernel) => compile(kernel, arch)));
        expect(logs).toEqual(['', '', '', '', '']);
      },
    );
  },
);
