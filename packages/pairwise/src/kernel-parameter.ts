import type { PairwiseDType } from '@mercer/kernels';
import { MercerError, type Device, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';

/** What a parameter has to agree with. */
export interface ParameterHome {
  readonly dtype: PairwiseDType;
  readonly device: Device;
  readonly batchShape: readonly number[];
}

/** The batch axes that a parameter brings along: none for one value, whatever its rank. */
export function parameterBatch(shape: readonly number[]): readonly number[] {
  return shape.every((extent) => extent === 1) ? [] : shape;
}

/** Checks a tensor's type and place, and that its batch axes (its shape, for a plain parameter) broadcast. */
export function checkParameter(
  what: string,
  name: string,
  value: Tensor,
  batch: readonly number[],
  home: ParameterHome,
): void {
  value.assertAlive();
  if (value.dtype !== home.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${name} is ${value.dtype} and the data are ${home.dtype}. Cast it with await ${name}.cast('${home.dtype}'), or pass a number.`,
    );
  }
  if (value.device !== home.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${name}, the ${value.label}, lies on another device than the data. Move it with to('${home.device.id}').`,
    );
  }
  const shape = parameterBatch(batch);
  const { batchShape } = home;
  const lead = batchShape.length - shape.length;
  const fits =
    lead >= 0 && shape.every((extent, axis) => extent === 1 || extent === batchShape[axis + lead]);
  if (fits) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${name} has shape ${formatShape(value.shape)} and the batch is ${formatShape(batchShape)}. Pass one value, or a shape that broadcasts to the batch.`,
  );
}
