import type { CpuLimits } from '../device-limits.js';
import { lanesOf, vectorPrelude, type CpuLevel, instruction } from '../emit/cpu-vector.js';
import { argumentsStruct, STANDARD_INTEGERS } from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from '../dtype.js';

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

/** Multiply-adds of a pair, an exponential counted as ten. */
const MULTIPLY_ADDS = 17;

const PARAMS: readonly KernelParam[] = [
  ...['x', 'y', 'b'].map((name) => pointer(name, 'float32', 'read')),
  pointer('out', 'float32', 'write'),
  ...['rowsI', 'rowsJ'].map(int64),
];

/**
 * The sums `out_i = sum_j exp(-|x_i - y_j|^2) b_j` in three dimensions, float32, written by hand: what a compiled formula is
 * compared with. Two vectors of rows i stay in registers, j runs in the inner loop, and sums are taken over 256 rows j at a
 * time. Nothing is generated from a formula.
 *
 * The exponential is 2^n e^r with n = round(-d / ln 2) and |r| <= ln(2) / 2: n by adding 1.5 * 2^23, which leaves it in the low
 * bits, r by two multiply-adds with ln 2 in two parts (Cody and Waite, Software Manual for the Elementary Functions, 1980), e^r
 * by a polynomial of degree 5. Squared distances beyond 87 count as 87, whose exponential is near the least normal number.
 *
 * Parameters: `x` (rowsI x 3), `y` (rowsJ x 3), `b` (rowsJ), `out` (rowsI), `rowsI`, `rowsJ`. A task takes two vectors of rows.
 *
 * @param limits level of the instructions
 */
export function cpuGaussianSumKernel({ level }: Pick<CpuLimits, 'level'>): CpuKernel {
  const entry = 'limit_cpu_gaussian_sum';
  const source = `${vectorPrelude(level, 'float32')}
${instruction('no_more_than', level === 'arm64' ? 'fmin' : 'min', level, 'float32', 2)}
${argumentsStruct(PARAMS, { integers: STANDARD_INTEGERS, dtypeOfT: 'float32', apart: () => true })}

// exp(-d) for d >= 0
INLINE V exp_of_minus(V d) {
  const V most = no_more_than(splat(87.0f), d);
  const V magic = splat(12583039.0f);  // 1.5 * 2^23, and the bias of exponents
  const V shifted = magic - most * splat(1.44269502f);
  const V n = shifted - magic;
  const V r = (n * splat(-0.693359375f) - most) - n * splat(-2.12194440e-4f);
  V p = splat(0.008290314f);
  p = p * r + splat(0.04189793f);
  p = p * r + splat(0.16667636f);
  p = p * r + splat(0.4999915f);
  p = p * r + splat(0.99999975f);
  p = p * r + splat(1.0f);
  return (V)((U)p + (((U)shifted - 0x4b40007fu) << 23));
}

constexpr int64_t VECTORS = 2, ROWS = VECTORS * LANES, TILE = 256;

extern "C" void ${entry}(const void* raw, int64_t begin, int64_t end, void*) {
  const Args& args = *(const Args*)raw;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t first = task * ROWS;
    V x[VECTORS][3], total[VECTORS];
    for (int64_t v = 0; v < VECTORS; ++v) {
      total[v] = splat(0);
      for (int64_t c = 0; c < 3; ++c) {
        T column[LANES];
        for (int64_t lane = 0; lane < LANES; ++lane) {
          const int64_t wanted = first + v * LANES + lane;
          column[lane] = args.x[3 * (wanted < args.rowsI ? wanted : args.rowsI - 1) + c];
        }
        x[v][c] = *(const VU*)column;
      }
    }
    for (int64_t start = 0; start < args.rowsJ; start += TILE) {
      const int64_t stop = args.rowsJ - start < TILE ? args.rowsJ : start + TILE;
      V sum[VECTORS];
      for (int64_t v = 0; v < VECTORS; ++v) sum[v] = splat(0);
      for (int64_t j = start; j < stop; ++j) {
        const T* const y = args.y + 3 * j;
        const V y0 = splat(y[0]), y1 = splat(y[1]), y2 = splat(y[2]), b = splat(args.b[j]);
        for (int64_t v = 0; v < VECTORS; ++v) {
          const V d0 = x[v][0] - y0, d1 = x[v][1] - y1, d2 = x[v][2] - y2;
          sum[v] = sum[v] + exp_of_minus(d0 * d0 + d1 * d1 + d2 * d2) * b;
        }
      }
      for (int64_t v = 0; v < VECTORS; ++v) total[v] = total[v] + sum[v];
    }
    for (int64_t v = 0; v < VECTORS; ++v) {
      for (int64_t lane = 0; lane < LANES; ++lane) {
        const int64_t row = first + v * LANES + lane;
        if (row < args.rowsI) args.out[row] = total[v][lane];
      }
    }
  }
}
`;
  const dtype = 'float32';
  const rows = 2 * lanesOf(level, dtype);
  return {
    dialect: 'cpu',
    name: `limit: Gaussian sum by hand on ${level}`,
    entry,
    source,
    params: PARAMS,
    options: [{ name: 'fmad', value: true }],
    geometry: ({ rowsI = 0 }) => ({ tasks: Math.ceil(rowsI / rows), chunk: 1, scratchBytes: 0 }),
    cost: ({ rowsI = 0, rowsJ = 0 }) => ({
      bytes: 4 * (4 * rowsI + 4 * rowsJ),
      flops: 2 * MULTIPLY_ADDS * rowsI * rowsJ,
    }),
  };
}

/** The Gaussian sum by hand among the limits of a CPU. */
export function cpuGaussianSum(limits: Pick<CpuLimits, 'level'>): CpuLimitKernel {
  return {
    limit: 'cpu-fp32-gaussian-sum',
    title: 'Gaussian sum written by hand, D = 3, float32',
    kernel: cpuGaussianSumKernel(limits),
  };
}
