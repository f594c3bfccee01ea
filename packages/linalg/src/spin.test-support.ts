import type { CudaKernel } from '@mercer/kernels';
import type { Stream } from '@mercer/tensor';

/** Holds a stream for a time. */
const SPIN: CudaKernel = {
  dialect: 'cuda',
  name: 'spin',
  entry: 'spin',
  source: `extern "C" __global__ void spin(long long ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < ns);
}
`,
  params: [{ name: 'ns', kind: 'scalar', type: 'int64' }],
  options: [],
  geometry: () => ({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }),
};

/** Enqueues a kernel that does nothing for so many milliseconds. */
export async function spin(stream: Stream, ms: number): Promise<void> {
  const kernel = await stream.device.load(SPIN);
  kernel.launch(stream, { pointers: [], scalars: { ns: ms * 1e6 } });
}
