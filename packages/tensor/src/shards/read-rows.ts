import type { SignalOption } from '../device.js';
import type { StridedSource } from '../host-array.js';
import { MercerError } from '../mercer-error.js';
import type { RowReader } from '../row-reader.js';
import { isTensor } from '../tensor.js';
import type { Rows } from './plan-shards.js';

/** Whether data is rows that are read as they are needed, such as `openNpy` gives. */
export const isRowReader = (data: unknown): data is RowReader =>
  typeof data === 'object' && data !== null && !isTensor(data) && 'readRows' in data;

/** Rows as a reader gives them, which may be another program's. @throws MercerError SHAPE_MISMATCH; what reading throws */
export async function readRows(
  from: RowReader,
  [first, count]: Rows,
  options: SignalOption,
): Promise<StridedSource> {
  const read: unknown = await from.readRows(first, count, options);
  const shape = [count, ...from.shape.slice(1)];
  const given = Object(read) as Partial<StridedSource>;
  const size = shape.reduce((product, extent) => product * extent, 1);
  const isRight = String(given.shape) === String(shape) && (given.data?.length ?? -1) >= size;
  if (isRight && (given.dtype ?? from.dtype) === from.dtype) return read as StridedSource;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `readRows gave ${given.dtype ?? ''} [${String(given.shape)}] of ${given.data?.length ?? 'no'} numbers. Rows that were asked for are ${from.dtype} [${shape.join(', ')}].`,
  );
}
