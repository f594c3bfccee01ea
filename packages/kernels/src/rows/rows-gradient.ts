import type { DeviceLimits } from '../device-limits.js';
import { dtypeBytes, type PairwiseDType } from '../dtype.js';
import {
  withConstants,
  type BuiltinKernel,
  type CudaKernel,
  type KernelCost,
  type LaunchableKernel,
  type Scalars,
  programOf,
  type KernelProgram,
} from '../emitted-kernel.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaType } from '../emit/literals.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';

/**
 * Goes back through the preparation of rows, `y[l,m,k] = x[l,m,k] scale[l,k]`, then with `normalise`
 * y / |y|. From dy it writes, for target 'x', dx; for target 'scale' what each element contributes to
 * the gradient of its factor, x dz, to be summed over rows. A zero row, normalised, gets 0.
 */
export interface RowsGradientPlan {
  readonly family: 'rows-gradient';
  readonly kind: DeviceLimits['kind'];
  readonly dtype: PairwiseDType;
  readonly normalise: boolean;
  readonly target: 'x' | 'scale';
}

/** The plan for a kind of device: the text does not depend on more. */
export function planRowsGradient(
  problem: Pick<RowsGradientPlan, 'dtype' | 'normalise' | 'target'>,
  { kind }: Pick<DeviceLimits, 'kind'>,
): RowsGradientPlan {
  const { dtype, normalise, target } = problem;
  return Object.freeze({ family: 'rows-gradient', kind, dtype, normalise, target });
}

/**
 * The kernel of a plan. Parameters: x, dy and out (both row-major without gaps, batch strides m k), m, k,
 * batch, the strides of x, `scaleAt` (address 0: `scaleValue` for all), its strides over the batch
 * and the features.
 */
export function emitRowsGradient(plan: RowsGradientPlan): KernelProgram<LaunchableKernel> {
  return programOf(plan.kind === 'cuda' ? gpuKernel(plan) : cpuKernel(plan));
}

const ENTRY = 'rows_gradient';
const THREADS = 256;
/** Rows of one task on a CPU; a warp has one row at a time on a GPU. */
const TASK_ROWS = 64;

function params({ dtype }: RowsGradientPlan): KernelParam[] {
  return [
    ...['x', 'dy'].map((name) => pointer(name, dtype, 'read')),
    pointer('out', dtype, 'write'),
    pointer('scaleAt', dtype, 'read'),
    ...['m', 'k', 'batch', 'rowStrideX', 'stepStrideX', 'batchStrideX'].map(int64),
    ...['scaleBatchStride', 'scaleStride'].map(int64),
    float64('scaleValue'),
  ];
}

function cost({ dtype }: RowsGradientPlan, { m = 0, k = 0, batch = 0 }: Scalars): KernelCost {
  const elements = m * k * batch;
  return { bytes: 3 * elements * dtypeBytes(dtype), flops: 8 * elements };
}

const name = ({ dtype, normalise, target }: RowsGradientPlan): string =>
  `rows gradient ${dtype} ${normalise ? 'normalised' : 'scaled'} of ${target}`;

/** One row of x, dy and the factors by step of k, in double. */
const VALUES = `const double f = factors ? (double)factors[t * scaleStride] : scaleValue;
      const double xt = (double)row[t * stepStrideX];`;
const PRODUCT = `${VALUES}
      const double z = xt * f;`;

/**
 * With z = x f and y = z / |z|: dz = (dy - z (z . dy) / |z|^2) / |z|. Rows are scaled by their largest
 * |z| first, so that squares neither overflow nor vanish.
 */
function bodyText(
  { normalise, target, dtype }: RowsGradientPlan,
  loop: (body: string) => string,
  combine: { readonly max: string; readonly sums: string },
): string {
  const value = target === 'x' ? 'dz * f' : 'dz * xt';
  const type = cudaType(dtype);
  if (!normalise) {
    const factor = '(factors ? (double)factors[t * scaleStride] : scaleValue)';
    const other = target === 'x' ? factor : '(double)row[t * stepStrideX]';
    return `(void)row, (void)factors;
    ${loop(`to[t] = (${type})((double)upstream[t] * ${other});`)}`;
  }
  return `double most = 0.0;
    ${loop(`${PRODUCT}
      const double size = z < 0.0 ? -z : z;
      most = size > most || size != size ? size : most;`)}
    ${combine.max}
    const double unit = most > 0.0 ? 1.0 / most : 0.0;
    double squares = 0.0, product = 0.0;
    ${loop(`${PRODUCT}
      squares += (z * unit) * (z * unit);
      product += (z * unit) * (double)upstream[t];`)}
    ${combine.sums}
    const double inverse = squares > 0.0 ? 1.0 / squares : 0.0;
    const double length = squares > 0.0 ? unit / SQRT(squares) : 0.0;
    ${loop(`${PRODUCT}
      const double dz = ((double)upstream[t] - (z * unit) * (product * inverse)) * length;
      to[t] = (${type})(${value});`)}`;
}

const ROW = (type: string): string => `const long long l = index / m, r = index - l * m;
    const ${type}* const row = x + l * batchStrideX + r * rowStrideX;
    const ${type}* const factors = scaleAt ? scaleAt + l * scaleBatchStride : scaleAt;
    const ${type}* const upstream = dy + index * k;
    ${type}* const to = out + index * k;`;

function gpuKernel(plan: RowsGradientPlan): CudaKernel {
  const type = cudaType(plan.dtype);
  const reduce = (each: string): string =>
    `for (int half = 16; half > 0; half /= 2) {
      ${each}
    }`;
  const text = bodyText(
    plan,
    (body) => `for (long long t = lane; t < k; t += 32) {
      ${body}
    }`,
    {
      max: reduce(`const double other = __shfl_xor_sync(0xffffffffu, most, half);
      most = other > most || other != other ? other : most;`),
      sums: reduce(`squares += __shfl_xor_sync(0xffffffffu, squares, half);
      product += __shfl_xor_sync(0xffffffffu, product, half);`),
    },
  );
  return cudaKernel({
    name: name(plan),
    entry: ENTRY,
    params: params(plan),
    list: { lines: ['m', 'scaleBatchStride'] },
    before: '#define SQRT(x) sqrt(x)\n',
    threads: THREADS,
    body: `  const int lane = threadIdx.x % 32;
  const long long warps = (long long)gridDim.x * ${THREADS / 32};
  for (long long index = (long long)blockIdx.x * ${THREADS / 32} + threadIdx.x / 32; index < m * batch; index += warps) {
    ${ROW(type)}
    ${text}
  }`,
    grid: ({ m = 0, batch = 0 }) => Math.min(Math.ceil((m * batch) / (THREADS / 32)), 2 ** 31 - 1),
    cost: (scalars) => cost(plan, scalars),
  });
}

function cpuKernel(plan: RowsGradientPlan): BuiltinKernel {
  return withConstants(
    {
      name: name(plan),
      entry: ENTRY,
      params: params(plan),
      tasks: ({ m = 0, batch = 0 }) => Math.ceil((m * batch) / TASK_ROWS),
      cost: (scalars) => cost(plan, scalars),
    },
    {
      wide: +(plan.dtype === 'float64'),
      normalise: +plan.normalise,
      ofScale: +(plan.target === 'scale'),
    },
  );
}
