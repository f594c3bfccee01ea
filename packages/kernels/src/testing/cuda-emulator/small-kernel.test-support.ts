import type { CudaGeometry, CudaKernel } from '../../emitted-kernel.js';
import { runCudaKernel } from '../cuda-emulator.test-support.js';

/** A kernel `f(const float* a, float* out)` around a body, for tests of the emulator. */
export function smallKernel(
  body: string,
  geometry: Partial<CudaGeometry> = {},
  functions = '',
): CudaKernel {
  return {
    dialect: 'cuda',
    name: 'small',
    entry: 'f',
    source: `${functions}
extern "C" __global__ void f(const float* __restrict__ a, float* __restrict__ out) {
  const unsigned t = threadIdx.x;
  ${body}
}`,
    params: [
      { name: 'a', kind: 'pointer', dtype: 'float32', access: 'read' },
      { name: 'out', kind: 'pointer', dtype: 'float32', access: 'readwrite' },
    ],
    options: [],
    geometry: () => ({ grid: [1, 1, 1], block: [32, 1, 1], sharedMemBytes: 0, ...geometry }),
  };
}

/** Runs a small kernel on `a` and gives `out`, which starts as zeros. */
export function runSmall(kernel: CudaKernel, a: Float32Array, length: number): number[] {
  const out = new Float32Array(length);
  runCudaKernel(kernel, { scalars: {}, pointers: [a, out] });
  return [...out];
}
