import type { DType } from '@mercer/kernels';
import type { Axes } from '../arithmetic/axes.js';
import { isPending, type Pending } from '../pending.js';
import { isTraced } from '../trace/traced-value.js';
import { assertTensor, type Tensor } from '../tensor.js';

/** A tensor, or a pending or traced one, which have the methods too. */
function present(x: unknown, what: string): Tensor {
  if (!isPending(x) && !isTraced(x)) assertTensor(x, `${what}: x`);
  return x as Tensor;
}

/**
 * A tensor walked backwards along an axis, several, or all where none are named. A view: it shares memory with x.
 *
 * ```ts
 * import { flip, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * console.log(await flip(x, 0).toNested()); // [ [ 3, 4 ], [ 1, 2 ] ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT, DISPOSED
 */
export function flip<D extends DType>(x: Tensor<D>, axes?: Axes): Tensor<D>;
export function flip<D extends DType>(x: Pending<Tensor<D>>, axes?: Axes): Pending<Tensor<D>>;
export function flip(x: unknown, axes?: Axes): unknown {
  return present(x, 'flip').flip(axes);
}

/**
 * The parts of a tensor along an axis: as many equal ones as `sections` says, or parts of the sizes in an array. Each is a view, shares memory
 * with x, and is disposed by itself. Parts of a pending tensor are pending, and their array is there at once.
 *
 * ```ts
 * import { split, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([1, 2, 3, 4], { device: 'cpu' });
 * const [left, right] = split(x, 2);
 * console.log(await left?.toNested(), await right?.toNested()); // [ 1, 2 ] [ 3, 4 ]
 * console.log(split(x, [1, 3]).map(({ shape }) => shape)); // [ [ 1 ], [ 3 ] ]
 * ```
 *
 * @param sections how many equal parts, or the size of each
 * @param axis counted from the end where it is negative
 * @throws MercerError SHAPE_MISMATCH where the parts do not make up the axis; INVALID_ARGUMENT, DISPOSED
 */
export function split<D extends DType>(
  x: Tensor<D>,
  sections: number | readonly number[],
  axis?: number,
): Tensor<D>[];
export function split<D extends DType>(
  x: Pending<Tensor<D>>,
  sections: number | readonly number[],
  axis?: number,
): Pending<Tensor<D>>[];
export function split(x: unknown, sections: number | readonly number[], axis?: number): unknown {
  return present(x, 'split').split(sections, axis);
}
