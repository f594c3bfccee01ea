import type { DeviceLimits } from '../device-limits.js';
import type { Layout } from '../pairwise/problem.js';
import { dtypeBytes, type PairwiseDType } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';

/**
 * Points made ready for a pairwise problem: `y[l,m,k] = x[l,m,k] * scale[l,k]`, and with `normalise`
 * divided by the Euclidean norm of the row, where a row of zeros stays as it is.
 */
export interface RowsProblem {
  readonly dtype: PairwiseDType;
  /** Sizes to choose a plan by. A plan is right for every size. */
  readonly m: number;
  readonly k: number;
  readonly batch: number;
  /** Layout of x; y is row-major. */
  readonly layout: Layout;
  /** Whether features are scaled: by one number, or by values in memory per feature and batch entry. */
  readonly scale: boolean;
  readonly normalise: boolean;
  /** Whether the norms of the scaled rows are written too, densely as (batch, m). */
  readonly norms?: boolean;
}

/** How rows are prepared: plain frozen data, the same for the same problem and limits. */
export interface RowsPlan {
  readonly family: 'rows';
  readonly kind: 'cuda' | 'cpu';
  /** One readable line. */
  readonly summary: string;
  readonly dtype: PairwiseDType;
  readonly layout: Layout;
  readonly scale: boolean;
  readonly normalise: boolean;
  readonly norms: boolean;
  /** Threads that share a row of a row-major operand on a GPU; 0 elsewhere. */
  readonly threadsPerRow: 0 | 32 | 256;
}

/** Rows at least this long are shared by a whole block where there are few of them. */
const LONG_ROW = 2048;
/** Warps of one multiprocessor that keep its memory busy. */
const WARPS_PER_MULTIPROCESSOR = 16;

/**
 * The plan of a row preparation.
 *
 * ```ts
 * import { emitRows, planRows } from '@mercer/kernels';
 * const plan = planRows(
 *   { dtype: 'float32', m: 1000, k: 64, batch: 1, layout: 'row', scale: false, normalise: true },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary, emitRows(plan).steps.length); // rows float32 row-major, normalised 1
 * ```
 */
export function planRows(problem: RowsProblem, limits: DeviceLimits): RowsPlan {
  const { dtype, layout, scale, normalise, norms = false } = problem;
  const threadsPerRow =
    limits.kind === 'cpu' || layout === 'column' ? 0 : rowThreads(problem, limits);
  const parts = [
    `rows ${dtype} ${layout}-major`,
    ...(scale ? ['scaled'] : []),
    ...(normalise ? ['normalised'] : []),
    ...(norms ? ['with norms'] : []),
    ...(threadsPerRow === 0 ? [] : [`${threadsPerRow} threads a row`]),
  ];
  return Object.freeze({
    family: 'rows',
    kind: limits.kind,
    summary: parts.join(', '),
    dtype,
    layout,
    scale,
    normalise,
    norms,
    threadsPerRow,
  });
}

function rowThreads(
  { m, k, batch }: RowsProblem,
  { multiprocessors }: DeviceLimits & { readonly kind: 'cuda' },
): 32 | 256 {
  const few = m * batch < multiprocessors * WARPS_PER_MULTIPROCESSOR;
  return few && k >= LONG_ROW ? 256 : 32;
}

/**
 * The parameters of a row preparation, sizes in elements: `ldx` is the stride of the axis of x that is
 * not contiguous, `ldo` that of the rows of out. With a scale: `scaleAt` (address 0: not in memory),
 * `scaleBatchStride`, `scaleStride` along k (0 or 1), and `scaleValue`, which counts where the address
 * is 0. With norms, last: the pointer `norms`.
 */
export function rowsParams({ dtype, scale, norms }: RowsPlan): KernelParam[] {
  return [
    pointer('x', dtype, 'read'),
    pointer('out', dtype, 'write'),
    ...['m', 'k', 'batch', 'ldx', 'ldo', 'batchStrideX', 'batchStrideOut'].map(int64),
    ...(scale ? scaleParams(dtype) : []),
    ...(norms ? [pointer('norms', dtype, 'write')] : []),
  ];
}

const scaleParams = (dtype: PairwiseDType): KernelParam[] => [
  pointer('scaleAt', dtype, 'read'),
  ...['scaleBatchStride', 'scaleStride'].map(int64),
  float64('scaleValue'),
];

/** What a launch must do at least: x read once, y written once. */
export function rowsCost(plan: RowsPlan, { m = 0, k = 0, batch = 0 }: Scalars): KernelCost {
  const elements = m * k * batch;
  const perElement = (plan.scale ? 1 : 0) + (plan.normalise ? 3 : plan.norms ? 2 : 0);
  const norms = plan.norms ? m * batch : 0;
  return {
    bytes: (2 * elements + norms) * dtypeBytes(plan.dtype),
    flops: elements * perElement,
  };
}
