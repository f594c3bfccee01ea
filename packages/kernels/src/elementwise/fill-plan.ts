import { dtypeBytes, type DType } from '../dtype.js';
import type { Scalars } from '../emitted-kernel.js';
import { PlanError } from '../plan-error.js';
import { collapseDims } from './collapse-dims.js';
import { MAX_COPY_RANK } from './copy-plan.js';

/** Everything that decides the text of a fill kernel. */
export interface FillPlan {
  readonly family: 'fill';
  /** Width of one element. */
  readonly bytes: 1 | 2 | 4 | 8;
  readonly mode: 'linear' | 'strided';
  readonly rank: number;
}

/** A view to fill; strides in elements. */
export interface FillProblem {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** A plan with the arguments that make it this fill; `lo` and `hi` are the element's bits and come from the caller. */
export interface PlannedFill {
  readonly plan: FillPlan;
  readonly scalars: Scalars;
  /** Elements to add to the start of the destination. */
  readonly dstOffset: number;
}

/**
 * Chooses the kernel for a fill. The shape must hold at least one element.
 *
 * @throws PlanError when more than eight dimensions are left after collapsing.
 */
export function planFill(problem: FillProblem): PlannedFill {
  const none = problem.shape.map(() => 0);
  const { dims, dstOffset } = collapseDims(problem.shape, none, problem.strides);
  if (dims.length > MAX_COPY_RANK) {
    throw new PlanError(
      'UNSUPPORTED',
      `fill: ${dims.length} dimensions are left after collapsing, at most ${MAX_COPY_RANK} are supported. Fill in slices.`,
    );
  }
  const linear = dims.length === 1 && dims[0]?.dst === 1;
  const scalars: Record<string, number> = {};
  if (linear) {
    scalars['count'] = dims[0]?.extent ?? 1;
  } else {
    dims.forEach((dim, i) => {
      scalars[`n${i}`] = dim.extent;
      scalars[`d${i}`] = dim.dst;
    });
  }
  const plan: FillPlan = Object.freeze({
    family: 'fill',
    bytes: dtypeBytes(problem.dtype) as 1 | 2 | 4 | 8,
    mode: linear ? 'linear' : 'strided',
    rank: linear ? 1 : dims.length,
  });
  return { plan, scalars, dstOffset };
}
