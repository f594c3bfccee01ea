/** One dimension of a strided pair, strides in elements. */
export interface PairDim {
  readonly extent: number;
  readonly src: number;
  readonly dst: number;
}

export interface CollapsedPair {
  /** Outermost first; never empty: a single element is one dimension of extent 1. */
  readonly dims: readonly PairDim[];
  /** Elements to add to the source's and the destination's start, from dimensions that were turned round. */
  readonly srcOffset: number;
  readonly dstOffset: number;
}

/**
 * The fewest dimensions that visit the same pairs of elements: extents of 1 go, dimensions with a negative destination
 * stride are walked backwards, the rest is ordered by destination stride, and neighbours that continue each other on
 * both sides are merged. The order in which elements are visited may change, the set of pairs does not.
 *
 * @example
 * ```ts
 * import { collapseDims } from '@mercer/kernels';
 *
 * const { dims } = collapseDims([4, 5, 6], [30, 6, 1], [30, 6, 1]);
 * console.log(dims); // [{ extent: 120, src: 1, dst: 1 }]
 * ```
 */
export function collapseDims(
  shape: readonly number[],
  srcStrides: readonly number[],
  dstStrides: readonly number[],
): CollapsedPair {
  const { dims, offsets } = collapseStrides(shape, [dstStrides, srcStrides]);
  return {
    dims: dims.map(({ extent, strides: [dst = 0, src = 0] }) => ({ extent, src, dst })),
    srcOffset: offsets[1] ?? 0,
    dstOffset: offsets[0] ?? 0,
  };
}

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

/** {@link collapseDims} for any number of operands; the first is the destination. */
export function collapseStrides(
  shape: readonly number[],
  operands: readonly (readonly number[])[],
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
