import { describeValue } from '@mercer/options';
import { arange, MercerError, tensor, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, assertTensor, isTraced } from '@mercer/tensor/operation';
import type { OperatorDType, OperatorForm, RowIndices } from './operator-types.js';

const isList = (indices: RowIndices): indices is readonly number[] => Array.isArray(indices);

/** How many there are. */
export const countOf = (indices: RowIndices): number =>
  isList(indices) ? indices.length : indices.size;

/** Work with the numbers on a device. */
export async function onDevice<T>(
  indices: RowIndices,
  { device }: Pick<OperatorForm, 'device'>,
  work: (at: Tensor<'int32' | 'int64'>) => Promise<T>,
): Promise<T> {
  if (!isList(indices)) return await work(indices);
  using at = await tensor(Int32Array.from(indices), { device });
  return await work(at);
}

/** The numbers on the host, which waits for the device where they are there. */
export async function onHost(indices: RowIndices): Promise<readonly number[]> {
  if (isList(indices)) return indices;
  assertNotPreparing('rows of numbers in a tensor');
  return Array.from(await indices.toTypedArray(), Number);
}

/** Columns of an identity matrix, (length, count). */
export async function unitVectors<D extends OperatorDType>(
  form: OperatorForm<D>,
  length: number,
  indices: RowIndices,
): Promise<Tensor<D>> {
  return await onDevice(indices, form, async (at) => {
    using all = await arange(length, { device: form.device, dtype: at.dtype });
    using column = all.reshape([length, 1]);
    return await column.eq(at).cast<D>(form.dtype);
  });
}

/** @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, SHAPE_MISMATCH, DEVICE_MISMATCH */
export function checkRows(given: RowIndices, rows: number, { device }: OperatorForm): void {
  const indices: unknown = given;
  if (!Array.isArray(indices)) {
    if (typeof indices !== 'object' || indices === null || ArrayBuffer.isView(indices)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `rows: indices are ${describeValue(indices)}. Pass an array of whole numbers, or a tensor of them.`,
      );
    }
    checkTensor(indices as Tensor, device.id);
    return;
  }
  for (const one of indices) {
    if (Number.isSafeInteger(one) && one >= 0 && one < rows) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `rows: ${describeValue(one)} is no row of an operator with ${rows}. Pass whole numbers from 0 to ${rows - 1}.`,
    );
  }
}

/** @throws MercerError */
function checkTensor(indices: Tensor, place: string): void {
  if (!isTraced(indices)) assertTensor(indices, 'rows: indices');
  const { dtype, rank, device, label } = indices;
  const isWhole = dtype === 'int32' || dtype === 'int64';
  if (isWhole && rank === 1 && device.id === place) return;
  throw new MercerError(
    isWhole ? (rank === 1 ? 'DEVICE_MISMATCH' : 'SHAPE_MISMATCH') : 'DTYPE_MISMATCH',
    `rows: indices are the ${label}. Pass int32 or int64 numbers (count) on ${place}.`,
  );
}
