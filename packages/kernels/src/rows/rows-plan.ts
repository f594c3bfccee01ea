import type { DeviceLimits } from '../device-limits.js';
import type { Layout, PairwiseDType } from '../pairwise/problem.js';
import type { RowsProblem } from './rows-problem.js';

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
