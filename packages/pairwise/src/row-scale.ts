import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape, strideOverBatch } from '@mercer/tensor/operation';
import { checkParameter, parameterBatch, type ParameterHome } from './kernel-parameter.js';

/** What a scale has to agree with. */
export interface ScaleHome extends ParameterHome {
  readonly k: number;
}

/** The strides of a scale where the features are contiguous and the batch axes evenly spaced: 1 or 0 along the features. */
export function scaleStrides(
  value: Tensor,
  { batchShape }: ScaleHome,
): { readonly batchStride: number; readonly stride: number } | undefined {
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
