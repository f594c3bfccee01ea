import type { CudaLimits } from '../device-limits.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaHelpers, type CudaHelper } from '../emit/cuda-math.js';
import { lines } from '../emit/text.js';
import { parameterList } from '../emit/parameter-text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer, float64 } from '../kernel-param.js';
import type { PairStep } from '../pair-tile/cuda/pair-arithmetic.js';
import { absoluteStep, fastPowerStep } from '../pairwise/cuda/power-step.js';
import { cudaType } from '../emit/literals.js';
import type { PairwiseDType } from '../dtype.js';

/** What a limit kernel measures. */
export interface LimitKernel {
  /** Key in reports. */
  readonly limit: string;
  /** What the loop does, for people. */
  readonly title: string;
  readonly kernel: CudaKernel;
}

/** A statement with the helpers that it calls: of `sum`, `x` and `y` what is returned is the sum. */
interface Statement {
  readonly text: string;
  readonly helpers?: readonly CudaHelper[];
}

/** A loop whose step is a statement. */
const written = (
  entry: string,
  name: string,
  dtype: PairLoop['dtype'],
  { text, helpers = [] }: Statement,
  issueSlots = 2,
): PairLoop => {
  const type = cudaType(dtype);
  return {
    name: `limit: ${name}`,
    entry,
    dtype,
    functions: lines(
      cudaHelpers(helpers, dtype),
      `__device__ __forceinline__ ${type} accumulate(${type} sum, ${type} x, ${type} y) {`,
      `  ${text}`,
      '}',
    ),
    setup: '',
    step: (sum, x, y) => `accumulate(${sum}, ${x}, ${y})`,
    issueSlots,
    special: 0,
    tile: dtype === 'float32' ? [8, 8] : [8, 4],
  };
};

const squared = (type: string, fma: string): Statement => ({
  text: `const ${type} d = x - y; return ${fma}(d, d, sum);`,
});

const larger = (abs: string): Statement => ({
  text: `return max_nan(sum, ${abs}(x - y));`,
  helpers: ['max'],
});

/** A loop over the arithmetic of a kernel. */
const ofStep = (step: PairStep, entry: string, name: string): PairLoop => ({
  ...step,
  name: `limit: ${name}`,
  entry,
  dtype: 'float32',
  tile: [8, 8],
});

/** Key, title, and arithmetic of each loop over pairs. */
const loops = (): readonly (readonly [limit: string, title: string, PairLoop])[] => [
  [
    'fp32-add-add',
    'two additions a pair (p = 1, plain)',
    written('limit_add_add', 'two additions', 'float32', { text: 'return sum + fabsf(x - y);' }),
  ],
  [
    'fp32-fma-add',
    'multiply-add and addition (p = 1)',
    ofStep(absoluteStep(), 'limit_fma_add', 'fused difference, addition of the absolute value'),
  ],
  [
    'fp32-add-fma',
    'addition and multiply-add (p = 2)',
    written('limit_add_fma', 'addition and multiply-add', 'float32', squared('float', 'fmaf')),
  ],
  [
    'fp32-add-max',
    'addition and maximum (p = infinity)',
    written('limit_add_max', 'addition and maximum', 'float32', larger('fabsf')),
  ],
  [
    'fp32-fma',
    'one multiply-add a pair',
    written('limit_fma', 'multiply-add', 'float32', { text: 'return fmaf(x, y, sum);' }, 1),
  ],
  [
    'fp32-power-special',
    'any p, special-function unit only',
    ofStep(fastPowerStep(0), 'limit_power_special', 'power on the special-function unit'),
  ],
  [
    'fp32-power-mixed',
    'any p, polynomial for half of the pairs',
    ofStep(fastPowerStep(4), 'limit_power_mixed', 'power, polynomial for half'),
  ],
  [
    'fp64-add-fma',
    'float64 addition and multiply-add (p = 2)',
    written(
      'limit_float64',
      'float64 addition and multiply-add',
      'float64',
      squared('double', 'fma'),
    ),
  ],
  [
    'fp64-add-max',
    'float64 addition and maximum (p = infinity)',
    written('limit_float64_max', 'float64 addition and maximum', 'float64', larger('fabs')),
  ],
];

/**
 * The loops of `mercer bench limits` on a GPU. Pairs per second of the loop with the same arithmetic
 * as a kernel are that kernel's issue limit; `copy` gives the memory bandwidth and `launch`
 * the least time of a kernel.
 */
export function cudaLimitKernels(limits: CudaLimits): LimitKernel[] {
  return [
    ...loops().map(([limit, title, loop]) => ({
      limit,
      title,
      kernel: pairLoopKernel(loop, limits),
    })),
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

/** The arithmetic that a register-only loop repeats; its `setup` may read the parameters `k` (iterations) and `p`. */
interface PairLoop extends Pick<
  PairStep,
  'functions' | 'setup' | 'step' | 'issueSlots' | 'special'
> {
  readonly name: string;
  readonly entry: string;
  readonly dtype: PairwiseDType;
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
  const [rows, columns] = loop.tile;
  const blocks = limits.multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
  const pairs = (k: number): number => k * blocks * THREADS * rows * columns;
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
      flops: 2 * loop.issueSlots * pairs(k),
      issueSlots: loop.issueSlots * pairs(k),
      specialOps: loop.special * pairs(k),
    }),
  });
}
