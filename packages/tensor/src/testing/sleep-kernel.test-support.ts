import type { CpuKernel } from '@mercer/kernels';

/** Sleeps for `ms` on a thread of the CPU, so that what its stream was given after it is late. */
export const SLEEP_KERNEL: CpuKernel = {
  dialect: 'cpu',
  name: 'sleep',
  entry: 'sleep_for',
  source: `#include <stdint.h>
#include <time.h>
extern "C" void sleep_for(const void* raw, int64_t, int64_t, void*) {
  const int64_t ms = *(const int64_t*)raw;
  const struct timespec time = {ms / 1000, (ms % 1000) * 1000000};
  nanosleep(&time, nullptr);
}
`,
  params: [{ name: 'ms', kind: 'scalar', type: 'int64' }],
  options: [],
  geometry: () => ({ tasks: 1, chunk: 1, scratchBytes: 0 }),
};
