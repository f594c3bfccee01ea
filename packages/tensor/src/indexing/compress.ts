import type { DType } from '@mercer/kernels';
import { checkAxis } from '../arithmetic/axes.js';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { memoryAmong, Turn } from '../call-order.js';
import { assertNotPreparing } from '../capture/refusals.js';
import { formatShape } from '../checked-size.js';
import { MercerError } from '../mercer-error.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { SHAPING_OPTIONS, type ShapingOptions } from '../shaping/shaping-options.js';
import { assertTensor, type Tensor } from '../tensor.js';
import { isTraced, promisesTraced } from '../trace/traced-value.js';
import { take } from './take.js';

/** The mask fits the axis, or all axes. @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, DISPOSED */
function checkMask(x: Tensor, mask: Tensor, axis: number | undefined): void {
  if (!isTraced(x)) assertTensor(x, 'compress: x');
  if (!isTraced(mask)) assertTensor(mask, 'compress: the mask');
  if (mask.dtype !== 'bool') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `compress: the mask is ${mask.label}. Pass bool, such as x.gt(0); take(x, indices) takes indices.`,
    );
  }
  const { rank, shape } = x;
  const wanted =
    axis === undefined
      ? shape
      : [shape[checkAxis('compress', axis, rank, `shape ${formatShape(shape)}`)] ?? 0];
  const fits = mask.rank === wanted.length && mask.shape.every((extent, k) => extent === wanted[k]);
  if (fits) return;
  const of = axis === undefined ? 'without an axis' : `along axis ${axis}`;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `compress: a mask of shape ${formatShape(mask.shape)} for ${x.label} ${of}. Its shape must be ${formatShape(wanted)}.`,
  );
}

async function compressed(
  x: Tensor,
  mask: Tensor<'bool'>,
  axis: number | undefined,
  options: ShapingOptions,
): Promise<Tensor> {
  checkMask(x, mask, axis);
  assertNotPreparing('compress');
  const { stream, signal } = options;
  const turn = new Turn(memoryAmong([x, mask]), memoryAmong([options.out]));
  try {
    const flags = await turn.run(() => mask.toTypedArray({ stream, signal }));
    const places: number[] = [];
    flags.forEach((flag: number, at: number) => {
      if (flag !== 0) places.push(at);
    });
    return await turn.run(() => take(x, places, axis, options));
  } finally {
    turn.end();
  }
}

/**
 * The elements where a mask is true, as numpy's `x[mask]`, or, with an axis, the slices along it where a mask of one axis is true, as its
 * compress.
 *
 * How many there are depends on the data, so the mask is read back and the call waits for the device. Where that is not wanted,
 * `where(mask, x, 0)` keeps the shape; `where(mask, value, x)` is numpy's `x[mask] = value`.
 *
 * ```ts
 * import { compress, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1, -2], [-3, 4]], where);
 * console.log(await compress(x, x.gt(0)).toNested()); // [ 1, 4 ]
 * console.log(await x.compress(tensor([false, true], where), 1).toNested()); // [ [ -2 ], [ 4 ] ]
 * ```
 *
 * @param x any dtype, rank and strides
 * @param mask bool, of x's shape, or, with an axis, of as many elements as the axis has
 * @param axis counted from the end where it is negative; default: all elements, in row-major order
 * @returns (true elements of the mask), or x's shape with so many along the axis; row-major, or `out`
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED; with `out` also OVERLAP
 */
export function compress<D extends DType>(
  x: TensorOperand<D>,
  mask: TensorOperand<'bool'>,
  axis?: number,
  options?: ShapingOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  const work = async (): Promise<Tensor> => {
    heard([x, mask]);
    const given = readOptions('compress', options, SHAPING_OPTIONS);
    return whenArrived([x, mask, given], async ([one, which]) =>
      compressed(one as Tensor, which as Tensor<'bool'>, axis, given),
    );
  };
  const result = pendingAfter([x, mask], work()) as Pending<Tensor<D>>;
  return [x, mask].some(isTraced) ? promisesTraced(result) : result;
}

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The elements where a mask is true: see {@link compress}. */
    compress(
      mask: TensorOperand<'bool'>,
      axis?: number,
      options?: ShapingOptions<NoInfer<D>>,
    ): Pending<Tensor<D>>;
  }
}

attachMethods({ compress });
