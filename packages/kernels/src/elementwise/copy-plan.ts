import type { DType } from '../dtype.js';
import type { Scalars } from '../emitted-kernel.js';
import { PlanError } from '../plan-error.js';
import { collapseDims, type PairDim } from './collapse-dims.js';
import { rawElement, type ElementType } from './element-type.js';

/** Largest rank of a strided copy after its dimensions were collapsed. */
export const MAX_COPY_RANK = 8;

/**
 * How elements are visited. 'linear': both sides are contiguous. 'strided': along the destination's last dimension.
 * 'tiled': the two sides are contiguous along different dimensions, and tiles keep both ends coalesced; the last
 * dimension is the destination's, the one before it is the source's.
 */
export type CopyMode = 'linear' | 'strided' | 'tiled';

/** Everything that decides the text of a copy kernel. */
export interface CopyPlan {
  readonly family: 'copy';
  readonly from: ElementType;
  readonly to: ElementType;
  readonly mode: CopyMode;
  readonly rank: number;
}

/** A copy between two strided views of one shape; strides in elements. */
export interface CopyProblem {
  readonly from: DType;
  readonly to: DType;
  readonly shape: readonly number[];
  readonly srcStrides: readonly number[];
  readonly dstStrides: readonly number[];
}

/** A plan with the arguments that make it this copy. */
export interface PlannedCopy {
  readonly plan: CopyPlan;
  readonly scalars: Scalars;
  /** Elements to add to the start of the source and of the destination. */
  readonly srcOffset: number;
  readonly dstOffset: number;
}

/** Tiles are worth their set-up from this extent on, on both sides. */
const MIN_TILED_EXTENT = 8;

/**
 * Chooses the kernel for a copy or cast. Equal dtypes are moved as raw bits. The shape must hold at least one element.
 *
 * @throws PlanError when more than eight dimensions are left after collapsing.
 */
export function planCopy(problem: CopyProblem): PlannedCopy {
  const { dims, srcOffset, dstOffset } = collapseDims(
    problem.shape,
    problem.srcStrides,
    problem.dstStrides,
  );
  if (dims.length > MAX_COPY_RANK) {
    throw new PlanError(
      'UNSUPPORTED',
      `strided copy: ${dims.length} dimensions are left after collapsing, at most ${MAX_COPY_RANK} are supported. Copy in slices.`,
    );
  }
  const same = problem.from === problem.to;
  const { mode, ordered } = arrange(dims);
  const plan: CopyPlan = Object.freeze({
    family: 'copy',
    from: same ? rawElement(problem.from) : problem.from,
    to: same ? rawElement(problem.to) : problem.to,
    mode,
    rank: mode === 'linear' ? 1 : ordered.length,
  });
  return { plan, scalars: copyScalars(mode, ordered), srcOffset, dstOffset };
}

function arrange(dims: readonly PairDim[]): { mode: CopyMode; ordered: readonly PairDim[] } {
  const last = dims.at(-1);
  if (dims.length === 1 && last?.src === 1 && last.dst === 1) {
    return { mode: 'linear', ordered: dims };
  }
  const across = dims.findIndex((d) => Math.abs(d.src) === 1);
  const inner = dims[across];
  if (
    inner !== undefined &&
    last !== undefined &&
    across < dims.length - 1 &&
    last.dst === 1 &&
    last.src !== 0 &&
    inner.extent >= MIN_TILED_EXTENT &&
    last.extent >= MIN_TILED_EXTENT
  ) {
    const outer = dims.filter((_, i) => i !== across && i !== dims.length - 1);
    return { mode: 'tiled', ordered: [...outer, inner, last] };
  }
  return { mode: 'strided', ordered: dims };
}

function copyScalars(mode: CopyMode, dims: readonly PairDim[]): Scalars {
  const scalars: Record<string, number> = {};
  if (mode === 'linear') {
    scalars['count'] = dims[0]?.extent ?? 1;
    return scalars;
  }
  dims.forEach((dim, i) => {
    scalars[`n${i}`] = dim.extent;
    scalars[`s${i}`] = dim.src;
    scalars[`d${i}`] = dim.dst;
  });
  return scalars;
}
