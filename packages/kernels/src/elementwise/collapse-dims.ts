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
  let srcOffset = 0;
  let dstOffset = 0;
  const dims: PairDim[] = [];
  shape.forEach((extent, axis) => {
    if (extent === 1) return;
    let src = srcStrides[axis] ?? 0;
    let dst = dstStrides[axis] ?? 0;
    if (dst < 0 || (dst === 0 && src < 0)) {
      srcOffset += (extent - 1) * src;
      dstOffset += (extent - 1) * dst;
      src = src === 0 ? 0 : -src;
      dst = dst === 0 ? 0 : -dst;
    }
    dims.push({ extent, src, dst });
  });
  dims.sort((a, b) => b.dst - a.dst || Math.abs(b.src) - Math.abs(a.src));
  const merged: PairDim[] = [];
  for (const dim of dims) {
    const outer = merged.at(-1);
    if (
      outer !== undefined &&
      outer.src === dim.extent * dim.src &&
      outer.dst === dim.extent * dim.dst
    ) {
      merged[merged.length - 1] = { ...dim, extent: outer.extent * dim.extent };
    } else {
      merged.push(dim);
    }
  }
  if (merged.length === 0) merged.push({ extent: 1, src: 1, dst: 1 });
  return { dims: merged, srcOffset, dstOffset };
}
