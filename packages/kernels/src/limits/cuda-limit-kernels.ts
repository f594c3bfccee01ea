import type { CudaLimits } from '../device-limits.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaHelpers, type CudaHelper } from '../emit/cuda-math.js';
import { lines } from '../emit/text.js';
import { parameterList } from '../emit/parameter-text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer, float64 } from '../kernel-param.js';
import { absoluteStep, fastPowerStep } from '../pairwise/cuda/power-step.js';
import { cudaType } from '../emit/cuda-literal.js';
import type { PairwiseDType } from '../pairwise/problem.js';

/** What a limit kernel measures. */
export interface LimitKernel {
  /** Key in reports. */
  readonly limit: string;
  /** What the loop does, for people. */
  readonly title: string;
  readonly kernel: CudaKernel;
}

interface WrittenOptions {
  readonly slots?: number;
  readonly helpers?: readonly CudaHelper[];
}

const written = (
  entry: string,
  name: string,
  dtype: PairLoop['dtype'],
  body: string,
  { slots = 2, helpers = [] }: WrittenOptions = {},
): PairLoop => {
  const type = dtype === 'float32' ? 'float' : 'double';
  return {
    name,
    entry,
    dtype,
    functions: lines(
      cudaHelpers(helpers, dtype),
      `__device__ __forceinline__ ${type} accumulate(${type} sum, ${type} x, ${type} y) {`,
      `  ${body}`,
      '}',
    ),
    setup: '',
    step: (sum, x, y) => `accumulate(${sum}, ${x}, ${y})`,
    slots,
    special: 0,
    tile: dtype === 'float32' ? [8, 8] : [8, 4],
  };
};

/**
 * The loops of `mercer bench limits` on a GPU. Pairs per second of the loop with the same arithmetic
 * as a kernel are that kernel's issue limit; `copy` gives the memory bandwidth and `launch`
 * the least time of a kernel.
 */
export function cudaLimitKernels(limits: CudaLimits): LimitKernel[] {
  const loop = (limit: string, title: string, pairs: PairLoop): LimitKernel => ({
    limit,
    title,
    kernel: pairLoopKernel(pairs, limits),
  });
  const power = (eighths: number, entry: string, name: string): PairLoop => ({
    ...fastPowerStep(eighths),
    name,
    entry,
    dtype: 'float32',
    tile: [8, 8],
  });
  const fused: PairLoop = {
    ...absoluteStep(),
    name: 'limit: fused difference, addition of the absolute value',
    entry: 'limit_fma_add',
    dtype: 'float32',
    tile: [8, 8],
  };
  return [
    loop(
      'fp32-add-add',
      'two additions a pair (p = 1, plain)',
      written('limit_add_add', 'limit: two additions', 'float32', 'return sum + fabsf(x - y);'),
    ),
    loop('fp32-fma-add', 'multiply-add and addition (p = 1)', fused),
    loop(
      'fp32-add-fma',
      'addition and multiply-add (p = 2)',
      written(
        'limit_add_fma',
        'limit: addition and multiply-add',
        'float32',
        'const float d = x - y; return fmaf(d, d, sum);',
      ),
    ),
    loop(
      'fp32-add-max',
      'addition and maximum (p = infinity)',
      written(
        'limit_add_max',
        'limit: addition and maximum',
        'float32',
        'return max_nan(sum, fabsf(x - y));',
        { helpers: ['max'] },
      ),
    ),
    loop(
      'fp32-fma',
      'one multiply-add a pair',
      written('limit_fma', 'limit: multiply-add', 'float32', 'return fmaf(x, y, sum);', {
        slots: 1,
      }),
    ),
    loop(
      'fp32-power-special',
      'any p, special-function unit only',
      power(0, 'limit_power_special', 'limit: power on the special-function unit'),
    ),
    loop(
      'fp32-power-mixed',
      'any p, polynomial for half of the pairs',
      power(4, 'limit_power_mixed', 'limit: power, polynomial for half'),
    ),
    loop(
      'fp64-add-fma',
      'float64 addition and multiply-add (p = 2)',
      written(
        'limit_float64',
        'limit: float64 addition and multiply-add',
        'float64',
        'const double d = x - y; return fma(d, d, sum);',
      ),
    ),
    loop(
      'fp64-add-max',
      'float64 addition and maximum (p = infinity)',
      written(
        'limit_float64_max',
        'limit: float64 addition and maximum',
        'float64',
        'return max_nan(sum, fabs(x - y));',
        { helpers: ['max'] },
      ),
    ),
    { limit: 'copy', title: 'device copy, read and write', kernel: copyKernel(limits) },
    { limit: 'launch', title: 'launch that reads and writes one element', kernel: launchKernel() },
  ];
}

const IN_AND_OUT = [pointer('a', 'float32', 'read'), pointer('out', 'float32', 'write')];

/** Copies `k` float4 of `a` to `out`. */
function copyKernel(limits: CudaLimits): CudaKernel {
  const blocks = limits.multiprocessors * 16;
  return cudaKernel({
    name: 'limit: copy',
    entry: 'limit_copy',
    params: [...IN_AND_OUT, int64('k')],
    list: { elements: { a: 'float4', out: 'float4' } },
    threads: 512,
    body: `  const long long stride = (long long)gridDim.x * 512;
  #pragma unroll 4
  for (long long i = (long long)blockIdx.x * 512 + threadIdx.x; i < k; i += stride) out[i] = a[i];`,
    grid: () => blocks,
    cost: ({ k = 0 }) => ({ bytes: 32 * k, flops: 0 }),
  });
}

/** One thread reads one element and writes it: a launch with one trip through memory. */
function launchKernel(): CudaKernel {
  return {
    dialect: 'cuda',
    name: 'limit: launch',
    entry: 'limit_launch',
    source: `extern "C" __global__ void limit_launch(${parameterList(IN_AND_OUT)}) {
  if (threadIdx.x == 0) out[0] = a[0] + 1.0f;
}
`,
    params: IN_AND_OUT,
    options: [],
    geometry: () => ({ grid: [1, 1, 1], block: [32, 1, 1], sharedMemBytes: 0 }),
    cost: () => ({ bytes: 8, flops: 1 }),
  };
}

const THREADS = 256;
const BLOCKS_PER_MULTIPROCESSOR = 2;

/** The arithmetic that a register-only loop repeats. */
interface PairLoop {
  readonly name: string;
  readonly entry: string;
  readonly dtype: PairwiseDType;
  readonly functions: string;
  /** Locals; may read the parameters `k` (iterations) and `p`. */
  readonly setup: string;
  step(sum: string, x: string, y: string, place: string): string;
  readonly slots: number;
  readonly special: number;
  /** Rows and columns of one thread's tile. */
  readonly tile: readonly [rows: number, columns: number];
}

/**
 * A loop over pairs whose operands never leave registers: what the device issues at most. One
 * addition per column and iteration keeps the compiler from hoisting the differences; it is part of
 * the time but not of the cost. Scalars: `k` iterations and `p`; `out` holds one element per thread.
 */
function pairLoopKernel(loop: PairLoop, limits: CudaLimits): CudaKernel {
  const type = cudaType(loop.dtype);
  const [rows, columns] = loop.tile.map(String) as [string, string];
  const blocks = limits.multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
  const pairs = (k: number): number => k * blocks * THREADS * loop.tile[0] * loop.tile[1];
  return cudaKernel({
    name: loop.name,
    entry: loop.entry,
    params: [pointer('out', loop.dtype, 'write'), int64('k'), float64('p')],
    before: `${loop.functions}\n\n`,
    threads: THREADS,
    resident: BLOCKS_PER_MULTIPROCESSOR,
    body: `  ${loop.setup}
  ${type} x[${rows}], y[${columns}], sum[${rows}][${columns}] = {};
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i) x[i] = (${type})(threadIdx.x % 29 + i * 3) * (${type})0.37;
  #pragma unroll
  for (int j = 0; j < ${columns}; ++j) y[j] = (${type})(threadIdx.x % 31 + j * 5) * (${type})0.41;
  const ${type} change = (${type})p * (${type})1e-4;
  #pragma unroll 1
  for (int step = 0; step < (int)k; ++step) {
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j) y[j] += change;
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i)
      #pragma unroll
      for (int j = 0; j < ${columns}; ++j) sum[i][j] = ${loop.step('sum[i][j]', 'x[i]', 'y[j]', `i * ${columns} + j`)};
  }
  ${type} total = 0;
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j) total += sum[i][j];
  out[(long long)blockIdx.x * ${THREADS} + threadIdx.x] = total;`,
    grid: () => blocks,
    cost: ({ k = 0 }) => ({
      bytes: 0,
      flops: 2 * loop.slots * pairs(k),
      issueSlots: loop.slots * pairs(k),
      specialOps: loop.special * pairs(k),
    }),
  });
}
