import type { DType } from '../dtype.js';
import type { Scalars } from '../emitted-kernel.js';
import { collapseDims, dimScalars, type SharedDim } from './collapse-dims.js';
import { rawElement, type ElementType, type RawElement } from './element-type.js';

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

/** Everything that decides the text of a fill kernel. */
export interface FillPlan {
  readonly family: 'fill';
  readonly to: RawElement;
  readonly mode: Exclude<CopyMode, 'tiled'>;
  readonly rank: number;
}

/** A kernel that writes elements: those of another view, or one everywhere. */
export type ElementsPlan = CopyPlan | FillPlan;

/** A copy between two strided views of one shape; strides in elements. */
export interface CopyProblem {
  readonly from: DType;
  readonly to: DType;
  readonly shape: readonly number[];
  readonly srcStrides: readonly number[];
  readonly dstStrides: readonly number[];
}

/** A view to fill; strides in elements. */
export interface FillProblem {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** A plan with the arguments that make it this copy. */
export interface PlannedCopy {
  readonly plan: CopyPlan;
  readonly scalars: Scalars;
  /** Elements to add to the start of the source and of the destination. */
  readonly srcOffset: number;
  readonly dstOffset: number;
}

/** A plan with the arguments that make it this fill; `lo` and `hi` are the element's bits and come from the caller. */
export interface PlannedFill {
  readonly plan: FillPlan;
  readonly scalars: Scalars;
  /** Elements to add to the start of the destination. */
  readonly dstOffset: number;
}

/** Tiles are worth their set-up from this extent on, on both sides. */
const MIN_TILED_EXTENT = 8;

/**
 * Chooses the kernel for a copy or cast. Equal dtypes are moved as raw bits. The shape must hold at least one element.
 *
 * @throws PlanError when more than eight dimensions are left after collapsing.
 */
export function planCopy({ shape, srcStrides, dstStrides, ...problem }: CopyProblem): PlannedCopy {
  const { dims, offsets } = collapseDims(
    shape,
    [dstStrides, srcStrides],
    ['strided copy', 'Copy in slices'],
  );
  const [dstOffset = 0, srcOffset = 0] = offsets;
  const same = problem.from === problem.to;
  const [from, to] = [problem.from, problem.to].map((one) => (same ? rawElement(one) : one)) as [
    ElementType,
    ElementType,
  ];
  const { mode, ordered } = arrange(dims);
  const plan = Object.freeze<CopyPlan>({ family: 'copy', from, to, mode, rank: ordered.length });
  return { plan, scalars: scalarsOf(mode, ordered, ['d', 's']), srcOffset, dstOffset };
}

/**
 * Chooses the kernel for a fill. The shape must hold at least one element.
 *
 * @throws PlanError when more than eight dimensions are left after collapsing.
 */
export function planFill({ dtype, shape, strides }: FillProblem): PlannedFill {
  const { dims, offsets } = collapseDims(shape, [strides], ['fill', 'Fill in slices']);
  const mode = isContiguous(dims) ? 'linear' : 'strided';
  const to = rawElement(dtype);
  const plan = Object.freeze<FillPlan>({ family: 'fill', to, mode, rank: dims.length });
  return { plan, scalars: scalarsOf(mode, dims, ['d']), dstOffset: offsets[0] ?? 0 };
}

const isContiguous = (dims: readonly SharedDim[]): boolean =>
  dims.length === 1 && dims[0]?.strides.every((stride) => stride === 1) === true;

function arrange(dims: readonly SharedDim[]): { mode: CopyMode; ordered: readonly SharedDim[] } {
  if (isContiguous(dims)) return { mode: 'linear', ordered: dims };
  const last = dims.at(-1);
  const [lastDst, lastSrc] = last?.strides ?? [];
  const across = dims.findIndex(({ strides: [, src = 0] }) => Math.abs(src) === 1);
  const inner = dims[across];
  if (
    inner !== undefined &&
    last !== undefined &&
    across < dims.length - 1 &&
    lastDst === 1 &&
    lastSrc !== 0 &&
    inner.extent >= MIN_TILED_EXTENT &&
    last.extent >= MIN_TILED_EXTENT
  ) {
    const outer = dims.filter((_, i) => i !== across && i !== dims.length - 1);
    return { mode: 'tiled', ordered: [...outer, inner, last] };
  }
  return { mode: 'strided', ordered: dims };
}

const scalarsOf = (
  mode: CopyMode,
  dims: readonly SharedDim[],
  prefixes: readonly string[],
): Scalars => (mode === 'linear' ? { count: dims[0]?.extent ?? 1 } : dimScalars(dims, prefixes));
