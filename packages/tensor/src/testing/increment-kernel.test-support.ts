import type { CpuKernel, CudaKernel, EmittedKernel, KernelParam } from '@mercer/kernels';

const params: readonly KernelParam[] = [
  { name: 'bytes', kind: 'pointer', dtype: 'uint8', access: 'readwrite' },
  { name: 'n', kind: 'scalar', type: 'int64' },
];

/** Adds 1 to n bytes; the fake driver knows this kernel by its entry and runs it. */
const cuda: CudaKernel = {
  dialect: 'cuda',
  name: 'increment',
  entry: 'increment',
  source: `extern "C" __global__ void increment(unsigned char* bytes, long long n) {
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256) bytes[i]++;
}
`,
  params,
  options: [],
  geometry: ({ n = 0 }) => ({
    grid: [Math.min(1024, Math.ceil(n / 256)), 1, 1],
    block: [256, 1, 1],
    sharedMemBytes: 0,
  }),
  cost: ({ n = 0 }) => ({ bytes: 2 * n, flops: n }),
};

/** The same in host C++. */
const cpu: CpuKernel = {
  dialect: 'cpu',
  name: 'increment',
  entry: 'increment',
  source: `#include <stdint.h>
struct Args { uint8_t* bytes; int64_t n; };
extern "C" void increment(const void* raw, int64_t begin, int64_t end, void*) {
  const Args& args = *(const Args*)raw;
  for (int64_t t = begin; t < end; ++t)
    for (int64_t i = t * 4096; i < args.n && i < (t + 1) * 4096; ++i) args.bytes[i]++;
}
`,
  params,
  options: [],
  geometry: ({ n = 0 }) => ({ tasks: Math.ceil(n / 4096), chunk: 1, scratchBytes: 0 }),
  cost: ({ n = 0 }) => ({ bytes: 2 * n, flops: n }),
};

/** A kernel that adds 1 to `n` bytes, for either kind of device. */
export function incrementKernel(kind: 'cpu' | 'cuda'): EmittedKernel {
  return kind === 'cpu' ? cpu : cuda;
}
