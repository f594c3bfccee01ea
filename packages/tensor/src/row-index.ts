import { MAX_INDEX_EXTENT, type IndexDType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { formatShape, sizeOfShape } from './checked-size.js';
import { isRowMajor } from './layout.js';
import { MercerError } from './mercer-error.js';
import { assertTensor, type Tensor } from './tensor.js';
import type { CallSteps, CallView } from './operation/call-steps.js';

/**
 * Checks an index: a live tensor of rank 1.
 *
 * @throws MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, INVALID_ARGUMENT for more entries than kernels count, DISPOSED
 */
export function checkIndex(index: Tensor<IndexDType>, what: string): void {
  assertTensor(index, `${what}: index`);
  if ((index.dtype as string) !== 'int32' && (index.dtype as string) !== 'int64') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: index is ${index.label}. Rows are named by int32 or int64; call cast('int32') first.`,
    );
  }
  if (index.rank !== 1) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: index is ${index.label} and must have one axis. Call reshape([-1]) first.`,
    );
  }
  if (index.size > MAX_INDEX_EXTENT) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: index has ${index.size} entries, at most ${MAX_INDEX_EXTENT} are supported. Split the work.`,
    );
  }
}

/** @throws MercerError INVALID_ARGUMENT for anything but a count that kernels can hold */
export function checkRowCount(rows: number, what: string): void {
  if (Number.isSafeInteger(rows) && rows >= 0 && rows <= MAX_INDEX_EXTENT) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${describeValue(rows)} is no number of rows. Pass an integer from 0 to ${MAX_INDEX_EXTENT}.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH for a tensor without an axis of rows */
export function checkHasRows(x: Tensor, name: string, what: string): void {
  if (x.rank > 0) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${name} is ${x.label} and has no axis of rows. Its shape must be (rows, ...).`,
  );
}

/** @throws MercerError SHAPE_MISMATCH where values and index are not of one length */
export function checkSameLength(values: Tensor, index: Tensor<IndexDType>, what: string): void {
  if (values.shape[0] === index.shape[0]) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: values have shape ${formatShape(values.shape)} and index has ${formatShape(index.shape)}. There must be one index for each row of values.`,
  );
}

/** Rows of a tensor as kernels read them. */
export interface RowsView {
  readonly view: CallView;
  /** Elements of a row. */
  readonly columns: number;
  /** Elements from the start of a row to that of the next. */
  readonly stride: number;
}

/** The rows of the input at a place; each row is dense, or the input is copied. */
export function rowsOf(steps: CallSteps, place: number): RowsView {
  const view = steps.input(place);
  const columns = sizeOfShape(view.shape.slice(1));
  const stride = view.strides[0] ?? 0;
  if (isRowMajor(view.shape.slice(1), view.strides.slice(1)) && stride >= 0) {
    return { view, columns, stride };
  }
  return { view: steps.rowMajorCopy(place), columns, stride: columns };
}

/** The index at a place, without gaps. */
export function denseIndex(steps: CallSteps, place: number): CallView {
  const view = steps.input(place);
  return isRowMajor(view.shape, view.strides) ? view : steps.rowMajorCopy(place);
}
