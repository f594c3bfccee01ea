import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import type { PairwiseShape } from './operands.js';

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
