import { isTensor, MercerError, type WorkOptions, type Tensor } from '@mercer/tensor';
import { formatShape, strideOverBatch } from '@mercer/tensor/operation';
import { checkParameter, parameterBatch, type ParameterHome } from './kernel-parameter.js';
import type { ParameterValue } from './run-kernel-options.js';

/** A scale as the kernel that prepares rows takes it: `scaleAt` and its strides, `scaleValue`. */
export interface BoundScale {
  readonly pointer: Tensor | 0n;
  readonly batchStride: number;
  /** 1 along the features, 0 for one factor for all. */
  readonly stride: number;
  readonly value: number;
}

/** What a scale has to agree with. */
export interface ScaleHome extends ParameterHome {
  readonly k: number;
}

/**
 * Binds a scale: a number, or a tensor (..., K) or (..., 1).
 *
 * @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH, SHAPE_MISMATCH, DISPOSED, and NOT_CONTIGUOUS where the strides do not
 *   describe it (`readableScale` copies it before)
 */
export function bindScale(what: string, value: ParameterValue, home: ScaleHome): BoundScale {
  if (!isTensor(value)) return { pointer: 0n, batchStride: 0, stride: 0, value };
  checkScale(what, value, home);
  const strides = scaleStrides(value, home);
  if (strides !== undefined) return { pointer: value, ...strides, value: 0 };
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: scale, the ${value.label}, has strides ${formatShape(value.strides)}. Its features must be contiguous and its batch axes evenly spaced: pass await scale.contiguous().`,
  );
}

/** The scale itself, or a row-major copy over the whole batch, pushed to `copies`. @throws as `bindScale` does */
export async function readableScale(
  what: string,
  value: ParameterValue,
  home: ScaleHome,
  copies: Tensor[],
  options: WorkOptions,
): Promise<ParameterValue> {
  if (!isTensor(value)) return value;
  checkScale(what, value, home);
  if (scaleStrides(value, home) !== undefined) return value;
  using spread = value.broadcastTo([...home.batchShape, home.k]);
  const copy = await spread.clone(options);
  copies.push(copy);
  return copy;
}

export function scaleStrides(
  value: Tensor,
  { batchShape }: ScaleHome,
): Pick<BoundScale, 'batchStride' | 'stride'> | undefined {
  const stride = (value.shape.at(-1) ?? 1) <= 1 ? 0 : (value.strides.at(-1) ?? 0);
  const lead = parameterBatch(value.shape.slice(0, -1));
  const batchStride = strideOverBatch(
    lead,
    value.strides.slice(value.rank - 1 - lead.length, -1),
    batchShape,
  );
  return batchStride === undefined || (stride !== 0 && stride !== 1)
    ? undefined
    : { batchStride, stride };
}

export function checkScale(what: string, value: Tensor, home: ScaleHome): void {
  const features = value.shape.at(-1) ?? 1;
  checkParameter(what, 'scale', value, value.shape.slice(0, -1), home);
  if (features === 1 || features === home.k) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: scale ${formatShape(value.shape)} has ${features} factors and the data ${home.k} features. Pass a number, one factor per feature, or one row of factors per batch entry.`,
  );
}
