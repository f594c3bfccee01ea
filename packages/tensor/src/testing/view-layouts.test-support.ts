import type { DType } from '@mercer/kernels';
import { empty, type Device, type Tensor } from '../index.js';

/** Ways in which a view can lie in memory. */
export const LAYOUTS = ['plain', 'turned', 'every second', 'reversed', 'unaligned'] as const;
export type LayoutName = (typeof LAYOUTS)[number];

/** A view of a shape that lies in memory as said. */
export function viewOf(
  dtype: DType,
  shape: readonly number[],
  layout: LayoutName,
  device: Device,
): Tensor {
  const fresh = (extents: readonly number[]): Tensor => empty(extents, { dtype, device });
  const axes = shape.map(() => null);
  switch (layout) {
    case 'plain':
      return fresh(shape);
    case 'turned':
      return fresh(shape.toReversed()).permute(shape.map((_, axis) => axis).reverse());
    case 'every second':
      return fresh([...shape, 2]).slice(...axes, 1);
    case 'reversed':
      return fresh(shape).slice(...axes.map((): [null, null, -1] => [null, null, -1]));
    case 'unaligned':
      return fresh([shape.reduce((a, b) => a * b, 1) + 1])
        .slice([1])
        .reshape(shape);
  }
}
