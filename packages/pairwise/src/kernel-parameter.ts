import type { PairwiseDType } from '@mercer/kernels';
import { isTensor, MercerError, type Device, type WorkOptions, type Tensor } from '@mercer/tensor';
import { formatShape, strideOverBatch } from '@mercer/tensor/operation';
import type { ParameterValue } from './run-kernel-options.js';

/** A parameter as a launch takes it: `<name>At`, `<name>Stride` and `<name>Value`. */
export interface BoundParameter {
  /** Address 0 for a number, which is in `value`. */
  readonly pointer: Tensor | 0n;
  /** Elements between the values of two batch entries; 0 is one value for all. */
  readonly stride: number;
  readonly value: number;
}

/** What a parameter has to agree with. */
export interface ParameterHome {
  readonly dtype: PairwiseDType;
  readonly device: Device;
  readonly batchShape: readonly number[];
}

/**
 * Binds a parameter of a call: a number, or a tensor with one value or with a shape that broadcasts to the batch axes.
 *
 * @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH, SHAPE_MISMATCH, DISPOSED, and NOT_CONTIGUOUS where one stride does not
 *   describe it (`readableParameter` copies it before)
 */
export function bindParameter(
  what: string,
  name: string,
  value: ParameterValue,
  home: ParameterHome,
): BoundParameter {
  if (!isTensor(value)) return { pointer: 0n, stride: 0, value };
  checkParameter(what, name, value, value.shape, home);
  const stride = parameterStride(value, home);
  if (stride !== undefined) return { pointer: value, stride, value: 0 };
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: ${name}, the ${value.label}, has strides ${formatShape(value.strides)}, which are not evenly spaced over the batch ${formatShape(home.batchShape)}. Pass a row-major tensor of that shape.`,
  );
}

/**
 * The parameter itself, or a row-major copy over the whole batch where no single stride describes it; copies are pushed to
 * `copies`, whose owner disposes them.
 *
 * @throws MercerError as `bindParameter` does
 */
export async function readableParameter(
  what: string,
  name: string,
  value: ParameterValue,
  home: ParameterHome,
  copies: Tensor[],
  options: WorkOptions,
): Promise<ParameterValue> {
  if (!isTensor(value)) return value;
  checkParameter(what, name, value, value.shape, home);
  if (parameterStride(value, home) !== undefined) return value;
  using spread = value.broadcastTo(home.batchShape);
  const copy = await spread.clone(options);
  copies.push(copy);
  return copy;
}

/** The batch axes that a parameter brings along: none for one value, whatever its rank. */
export function parameterBatch(shape: readonly number[]): readonly number[] {
  return shape.every((extent) => extent === 1) ? [] : shape;
}

function parameterStride(value: Tensor, { batchShape }: ParameterHome): number | undefined {
  const shape = parameterBatch(value.shape);
  return shape.length === 0 ? 0 : strideOverBatch(shape, value.strides, batchShape);
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
