import type { CpuLimits } from '../device-limits.js';
import { lanesOf, vectorPrelude, type CpuLevel } from '../emit/cpu-vector.js';
import { argumentsStruct, STANDARD_INTEGERS } from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from '../pairwise/problem.js';

/** What a CPU limit kernel measures. */
export interface CpuLimitKernel {
  /** Key in reports. */
  readonly limit: string;
  /** What the loop does, for people. */
  readonly title: string;
  readonly kernel: CpuKernel;
}

/**
 * Independent sums per thread: at least latency times pipes (4 x 2 on x86, 4 x 4 on arm64), and few enough that they, the two
 * operands and, without a fused instruction, the product stay in registers.
 */
const SUMS: { readonly [L in CpuLevel]: number } = {
  'x86-64-v2': 12,
  'x86-64-v3': 12,
  'x86-64-v4': 24,
  arm64: 24,
  wasm128: 12,
};

/**
 * The multiply-add rate of a CPU: each task runs `iterations` rounds of independent `s = s * x + y` on full vectors, nothing
 * but registers. x86-64-v2 has no fused instruction; there a multiplication and an addition make the pair. `out` takes one
 * value per task, so that the sums are needed. With x = 0.5 and y = 1 they stay between 1 and 2.
 *
 * Parameters: `out` (tasks values), `tasks`, `iterations`, `x`, `y`. The flops per second of a launch with a few tasks per core
 * and some milliseconds per task are the FMA peak of the cores that ran.
 *
 * @param limits level of the instructions
 * @param dtype data type of the sums
 */
export function cpuFmaKernel(limits: CpuLimits, dtype: PairwiseDType): CpuKernel {
  const { level } = limits;
  const sums = Array.from({ length: SUMS[level] }, (_, i) => `s${i}`);
  const lanes = lanesOf(level, dtype);
  const entry = dtype === 'float32' ? 'limit_cpu_fma_f32' : 'limit_cpu_fma_f64';
  const params: KernelParam[] = [
    pointer('out', dtype, 'write'),
    ...['tasks', 'iterations'].map(int64),
    ...['x', 'y'].map(float64),
  ];
  const source = `${vectorPrelude(level, dtype)}
${argumentsStruct(params, { integers: STANDARD_INTEGERS, dtypeOfT: dtype, apart: () => true })}

extern "C" void ${entry}(const void* raw, int64_t begin, int64_t end, void*) {
  const Args& args = *(const Args*)raw;
  const V x = splat((T)args.x), y = splat((T)args.y);
  for (int64_t task = begin; task < end; ++task) {
    V ${sums.map((sum, i) => `${sum} = y + (T)${i} / (T)${sums.length}`).join(', ')};
    for (int64_t i = 0; i < args.iterations; ++i) {
${sums.map((sum) => `      ${sum} = ${sum} * x + y;`).join('\n')}
    }
    const V total = ${sums.join(' + ')};
    T value = 0;
    for (int64_t lane = 0; lane < LANES; ++lane) value += total[lane];
    args.out[task] = value;
  }
}
`;
  return {
    dialect: 'cpu',
    name: `limit: ${dtype} multiply-add on ${level}`,
    entry,
    source,
    params,
    options: [{ name: 'fmad', value: true }],
    geometry: ({ tasks = 0 }) => ({ tasks, chunk: 1, scratchBytes: 0 }),
    cost: ({ tasks = 0, iterations = 0 }) => ({
      bytes: tasks * (dtype === 'float32' ? 4 : 8),
      flops: 2 * lanes * sums.length * tasks * iterations,
    }),
  };
}

/** The loops of `mercer bench limits` on a CPU. */
export function cpuLimitKernels(limits: CpuLimits): CpuLimitKernel[] {
  return [
    {
      limit: 'cpu-fp32-fma',
      title: 'float32 multiply-add, registers only',
      kernel: cpuFmaKernel(limits, 'float32'),
    },
    {
      limit: 'cpu-fp64-fma',
      title: 'float64 multiply-add, registers only',
      kernel: cpuFmaKernel(limits, 'float64'),
    },
  ];
}
