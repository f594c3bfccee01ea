import { MAX_INDEX_EXTENT, type IndexDType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import type { ClassDType } from '../creators/one-hot.js';
import { tensor, type PlacementOptions } from '../create.js';
import type { SignalOption } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { nestedArray } from '../nested.js';
import { isPending } from '../pending.js';
import { assertTensor, isTensor, type Tensor } from '../tensor.js';
import { isTraced } from '../trace/traced-value.js';

/** Indices that the host has: one, or arrays nested to any depth, whose last may be typed arrays. */
export type HostIndices = number | bigint | ArrayLike<number | bigint> | readonly HostIndices[];

/** Indices as they were when the call was made. */
export type ReadIndices =
  Tensor<ClassDType> | { readonly data: Float64Array; readonly shape: readonly number[] };

const INDEX_DTYPES: readonly string[] = ['int64', 'int32', 'uint8'] satisfies ClassDType[];

/** Those of the host copied; tensors, pending and traced ones too, as they are. @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT */
export function readIndices(what: string, indices: unknown): unknown {
  if (isTensor(indices) || isPending(indices) || isTraced(indices)) return indices;
  if (typeof firstOf(indices) === 'boolean') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the indices are booleans, ${describeValue(indices)}. Pass numbers, or a mask as a tensor: await tensor(mask).`,
    );
  }
  const { data, shape } = nestedArray(indices, 'float64', `${what}: the indices`);
  return { data, shape };
}

/** The first element of nested arrays. */
const firstOf = (value: unknown): unknown => (Array.isArray(value) ? firstOf(value[0]) : value);

/** Those of the host on a device, where each is checked first. @throws MercerError INVALID_ARGUMENT */
export async function placedIndices(
  what: string,
  { data, shape }: Exclude<ReadIndices, Tensor>,
  extent: number,
  placement: PlacementOptions & SignalOption,
): Promise<Tensor<IndexDType>> {
  const wrong = data.find((one) => !Number.isInteger(one) || one < -extent || one >= extent);
  if (wrong !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      extent === 0
        ? `${what}: index ${wrong} of an axis without elements. Pass no indices, or another axis.`
        : `${what}: index ${wrong} of an axis with ${extent} elements. Use ${-extent} to ${extent - 1}; negative ones count from the end.`,
    );
  }
  return tensor(data, { ...placement, dtype: dtypeFor(extent), shape });
}

/** Which holds every place among so many. */
export const dtypeFor = (extent: number): IndexDType =>
  extent > MAX_INDEX_EXTENT ? 'int64' : 'int32';

/** @throws MercerError DTYPE_MISMATCH, DISPOSED, INVALID_ARGUMENT */
export function checkIndices(
  what: string,
  indices: unknown,
): asserts indices is Tensor<ClassDType> {
  assertTensor(indices, `${what}: the indices`);
  if (INDEX_DTYPES.includes(indices.dtype)) return;
  const remedy =
    indices.dtype === 'bool' ? 'compress(x, mask) takes a mask' : "cast('int32') converts";
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: the indices are ${indices.label}. Pass int64, int32 or uint8; ${remedy}.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT for more than kernels count */
export function checkEntries(what: string, count: number): void {
  if (count <= MAX_INDEX_EXTENT) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${describeValue(count)} entries, at most ${MAX_INDEX_EXTENT} are supported. Split the work.`,
  );
}
