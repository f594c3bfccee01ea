import { PlanError } from '../plan-error.js';

/** Most dimensions of a kernel over elements, once they are collapsed. */
export const MAX_COPY_RANK = 8;

/** One dimension of several operands that are visited together, strides in elements. */
export interface SharedDim {
  readonly extent: number;
  /** One stride for each operand. */
  readonly strides: readonly number[];
}

/** Operands over one shape with as few dimensions as possible. */
export interface CollapsedOperands {
  /** Outermost first; never empty: a single element is one dimension of extent 1 with strides 1. */
  readonly dims: readonly SharedDim[];
  /** Elements to add to each operand's start, from dimensions that were turned round. */
  readonly offsets: readonly number[];
}

/**
 * The fewest dimensions that visit the same elements of all operands together: extents of 1 go, dimensions with a negative
 * stride of the first operand, the destination, are walked backwards, the rest is ordered by its stride, and neighbours
 * that continue each other in all operands are merged. The order in which elements are visited may change.
 *
 * @param what of an error, and what it advises
 * @throws PlanError when more than eight dimensions are left
 */
export function collapseDims(
  shape: readonly number[],
  operands: readonly (readonly number[])[],
  [what, advice]: readonly [what: string, advice: string],
): CollapsedOperands {
  const offsets = operands.map(() => 0);
  const dims: SharedDim[] = [];
  shape.forEach((extent, axis) => {
    if (extent === 1) return;
    let strides = operands.map((operand) => operand[axis] ?? 0);
    if ((strides.find((stride) => stride !== 0) ?? 0) < 0) {
      strides.forEach((stride, i) => (offsets[i] = (offsets[i] ?? 0) + (extent - 1) * stride));
      strides = strides.map((stride) => (stride === 0 ? 0 : -stride));
    }
    dims.push({ extent, strides });
  });
  dims.sort((a, b) => outerFirst(a.strides, b.strides));
  const merged: SharedDim[] = [];
  for (const dim of dims) {
    const outer = merged.at(-1);
    if (outer?.strides.every((stride, i) => stride === dim.extent * (dim.strides[i] ?? 0))) {
      merged[merged.length - 1] = { ...dim, extent: outer.extent * dim.extent };
    } else {
      merged.push(dim);
    }
  }
  if (merged.length === 0) merged.push({ extent: 1, strides: operands.map(() => 1) });
  if (merged.length > MAX_COPY_RANK) {
    throw new PlanError(
      'UNSUPPORTED',
      `${what}: ${merged.length} dimensions are left after collapsing, at most ${MAX_COPY_RANK} are supported. ${advice}.`,
    );
  }
  return { dims: merged, offsets };
}

/** The larger destination stride first; where equal, the operands behind it decide in turn. */
function outerFirst(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(b[i] ?? 0) - Math.abs(a[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The scalars of dimensions: extents `n0`, ..., and the strides of each operand by its prefix. */
export const dimScalars = (
  dims: readonly SharedDim[],
  prefixes: readonly string[],
): Record<string, number> =>
  Object.fromEntries([
    ...dims.map(({ extent }, i) => [`n${i}`, extent] as const),
    ...prefixes.flatMap((prefix, operand) =>
      dims.map(({ strides }, i) => [`${prefix}${i}`, strides[operand] ?? 0] as const),
    ),
  ]);
