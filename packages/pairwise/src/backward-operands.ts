import { MercerError, type Tensor, type WorkOptions } from '@mercer/tensor';
import { formatShape, strideOverBatch } from '@mercer/tensor/operation';
import type { PairwiseShape } from './operands.js';

/** An input as a gradient kernel reads it, with any strides, in elements. */
export interface BackwardOperand {
  readonly tensor: Tensor;
  /** Strides of the last two axes. */
  readonly rowStride: number;
  readonly columnStride: number;
  /** Elements between two batch entries; 0 broadcasts. */
  readonly batchStride: number;
  /** The shape that its gradient takes. */
  readonly shape: readonly number[];
}

/**
 * The input itself, or a row-major copy over the whole batch where no single stride describes its batch axes. Copies are
 * pushed to `copies`, whose owner disposes them.
 */
export async function backwardOperand(
  x: Tensor,
  { batchShape }: PairwiseShape,
  options: WorkOptions,
  copies: Tensor[],
): Promise<BackwardOperand> {
  const strideOf = (each: Tensor): number | undefined =>
    strideOverBatch(each.shape.slice(0, -2), each.strides.slice(0, -2), batchShape);
  let tensor = x;
  let batchStride = strideOf(x);
  if (batchStride === undefined) {
    using spread = x.broadcastTo([...batchShape, ...x.shape.slice(-2)]);
    tensor = await spread.clone(options);
    copies.push(tensor);
    batchStride = strideOf(tensor) ?? 0;
  }
  const [rowStride = 0, columnStride = 0] = tensor.strides.slice(-2);
  return { tensor, rowStride, columnStride, batchStride, shape: x.shape };
}

/**
 * Checks the gradient of a loss with respect to a result.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH or DEVICE_MISMATCH
 */
export function checkUpstream(what: string, gradient: Tensor, shape: PairwiseShape): void {
  const { outShape, dtype, device } = shape;
  if (gradient.dtype !== dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the gradient is ${gradient.dtype} and the data are ${dtype}. Cast it with await gradient.cast('${dtype}').`,
    );
  }
  if (gradient.device !== device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: the gradient, the ${gradient.label}, lies on another device than the data. Move it with to('${device.id}').`,
    );
  }
  const same =
    gradient.rank === outShape.length && gradient.shape.every((n, i) => n === outShape[i]);
  if (same) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the gradient has shape ${formatShape(gradient.shape)} and the result ${formatShape(outShape)}. Pass the gradient of the loss with respect to the result.`,
  );
}
