import { dtypeBytes } from '../dtype.js';
import {
  withConstants,
  type BuiltinKernel,
  type CudaKernel,
  type KernelCost,
  type LaunchableKernel,
  type Scalars,
  scalar,
} from '../emitted-kernel.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaType } from '../emit/literals.js';
import { SHORT_INTEGERS } from '../emit/parameter-text.js';
import { prelude, type Dialect } from './conversion-text.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';

/** Element types that sums are taken of and written in. */
export type SumDType = 'float32' | 'float64';

/**
 * Everything that decides the text of a sum over an axis. 'each': a thread adds up one output; 'block':
 * a block of threads shares one, for few outputs with many terms (on a GPU).
 */
export interface SumPlan {
  readonly family: 'sum';
  readonly from: SumDType;
  readonly to: SumDType;
  readonly mode: 'each' | 'block';
}

/** Sizes to choose a plan by: outputs, and terms of each. */
export interface SumProblem {
  readonly from: SumDType;
  readonly to: SumDType;
  readonly outputs: number;
  readonly count: number;
}

/** Outputs that keep a GPU busy with a thread each. */
const MANY_OUTPUTS = 8192;
const FEW_TERMS = 64;

/**
 * The plan of `dst[o * inner + i] = sum_j src[o * strideOuter + j * strideCount + i * strideInner]`, added in double
 * precision in an order that depends on the sizes alone.
 */
export function planSum({ from, to, outputs, count }: SumProblem): SumPlan {
  const mode = outputs >= MANY_OUTPUTS || count <= FEW_TERMS ? 'each' : 'block';
  return Object.freeze({ family: 'sum', from, to, mode });
}

/** `src`, `dst`, extents `outer`, `count`, `inner` and the source's strides over them, in elements. */
function sumParams({ from, to }: SumPlan): readonly KernelParam[] {
  return [
    pointer('src', from, 'read'),
    pointer('dst', to, 'write'),
    ...['outer', 'count', 'inner', 'strideOuter', 'strideCount', 'strideInner'].map(int64),
  ];
}

const THREADS = 256;
/** Outputs of one task on a CPU. */
const SPAN = 256;
const MAX_GRID_X = 2 ** 31 - 1;

/**
 * A sum over an axis: CUDA C++, or a built-in function of the CPU's runtime.
 *
 * ```ts
 * import { emitSum, planSum } from '@mercer/kernels';
 * const plan = planSum({ from: 'float64', to: 'float32', outputs: 3, count: 1000 });
 * console.log(emitSum(plan, 'cuda').entry); // mercer_sum_block
 * ```
 */
export function emitSum(plan: SumPlan, dialect: 'cuda'): CudaKernel;
export function emitSum(plan: SumPlan, dialect: 'cpu'): BuiltinKernel;
export function emitSum(plan: SumPlan, dialect: Dialect): LaunchableKernel;
export function emitSum(plan: SumPlan, dialect: Dialect): LaunchableKernel {
  return dialect === 'cuda' ? emitCudaSum(plan) : cpuSumKernel(plan);
}

function cost({ from, to }: SumPlan, scalars: Scalars): KernelCost {
  const outputs = outputCount(scalars);
  const terms = outputs * scalar(scalars, 'count');
  return { bytes: terms * dtypeBytes(from) + outputs * dtypeBytes(to), flops: terms };
}

function outputCount(scalars: Scalars): number {
  return scalar(scalars, 'outer') * scalar(scalars, 'inner');
}

function emitCudaSum(plan: SumPlan): CudaKernel {
  const [S, D] = [cudaType(plan.from), cudaType(plan.to)];
  const place = `const i64 o = index / inner, i = index - o * inner;
    const ${S}* const from = src + o * strideOuter + i * strideInner;`;
  const body =
    plan.mode === 'each'
      ? `  for (i64 index = (i64)blockIdx.x * ${THREADS} + threadIdx.x; index < outer * inner; index += (i64)gridDim.x * ${THREADS}) {
    ${place}
    double sum = 0.0;
    #pragma unroll 4
    for (i64 j = 0; j < count; ++j) sum += (double)from[j * strideCount];
    dst[index] = (${D})sum;
  }`
      : `  __shared__ double parts[${THREADS}];
  for (i64 index = blockIdx.x; index < outer * inner; index += gridDim.x) {
    ${place}
    double sum = 0.0;
    #pragma unroll 4
    for (i64 j = threadIdx.x; j < count; j += ${THREADS}) sum += (double)from[j * strideCount];
    parts[threadIdx.x] = sum;
    #pragma unroll 1
    for (int half = ${THREADS / 2}; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    if (threadIdx.x == 0) dst[index] = (${D})parts[0];
    __syncthreads();
  }`;
  return cudaKernel({
    name: `sum ${plan.mode} ${plan.from} ${plan.to}`,
    entry: `mercer_sum_${plan.mode}`,
    params: sumParams(plan),
    list: { integers: SHORT_INTEGERS },
    before: `${prelude('cuda')}\n`,
    threads: THREADS,
    body,
    grid: (scalars) => {
      const outputs = outputCount(scalars);
      const blocks = plan.mode === 'each' ? Math.ceil(outputs / THREADS) : outputs;
      return Math.min(blocks, MAX_GRID_X);
    },
    cost: (scalars) => cost(plan, scalars),
  });
}

function cpuSumKernel(plan: SumPlan): BuiltinKernel {
  return withConstants(
    {
      name: `sum ${plan.from} ${plan.to}`,
      entry: 'sum',
      params: sumParams(plan),
      tasks: (scalars) => scalar(scalars, 'outer') * Math.ceil(scalar(scalars, 'inner') / SPAN),
      cost: (scalars) => cost(plan, scalars),
    },
    { from64: +(plan.from === 'float64'), to64: +(plan.to === 'float64') },
  );
}
