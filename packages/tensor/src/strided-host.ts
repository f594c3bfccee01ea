import type { Layout } from './layout.js';
import type { StorageArray } from './typed-arrays.js';

/** Calls `visit` with the position of each element of a layout, in row-major order. */
export function forEachPosition(layout: Layout, visit: (position: number) => void): void {
  const { shape, strides } = layout;
  const rank = shape.length;
  if (shape.some((extent) => extent === 0)) return;
  const index = new Array<number>(rank).fill(0);
  let position = layout.offset;
  for (;;) {
    visit(position);
    let axis = rank - 1;
    for (; axis >= 0; axis--) {
      const extent = shape[axis] ?? 1;
      const stride = strides[axis] ?? 0;
      const next = (index[axis] ?? 0) + 1;
      if (next < extent) {
        index[axis] = next;
        position += stride;
        break;
      }
      index[axis] = 0;
      position -= (extent - 1) * stride;
    }
    if (axis < 0) return;
  }
}

/** The elements of a strided view of host memory, in row-major order. `out` has the view's size. */
export function gather<A extends StorageArray>(data: A, layout: Layout, out: A): A {
  const target = out as { [i: number]: number | bigint };
  const source = data as { readonly [i: number]: number | bigint };
  let at = 0;
  forEachPosition(layout, (position) => {
    target[at++] = source[position] ?? 0;
  });
  return out;
}
