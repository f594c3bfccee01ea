import {
  MercerError,
  tensor,
  type Device,
  type MercerErrorCode,
  type Tensor,
} from '@mercer/tensor';
import type { PairwiseDType } from '@mercer/kernels';
import { assert, expect } from 'vitest';
import { normalValues, type ReferenceMatrix } from './cdist-reference.test-support.js';

/** Which of the last two axes is contiguous. */
export type Order = 'row' | 'column';

export const ORDERS: readonly Order[] = ['row', 'column'];

/** u of each dtype. */
export const UNIT = { float32: 2 ** -24, float64: 2 ** -53 } as const;

/** A matrix of normal values. */
export function matrix(rows: number, columns: number, seed: number): ReferenceMatrix {
  return { rows, columns, values: normalValues(rows * columns, seed) };
}

/** Uploads a matrix in a memory order, each line padded by `pad` elements. */
export async function upload(
  matrix: ReferenceMatrix,
  order: Order,
  pad: number,
  dtype: PairwiseDType,
  device: Device,
): Promise<Tensor<PairwiseDType>> {
  const { rows, columns, values } = matrix;
  const lines = order === 'row' ? rows : columns;
  const length = (order === 'row' ? columns : rows) + pad;
  const padded = new Float64Array(lines * length).fill(NaN);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const at = order === 'row' ? r * length + c : c * length + r;
      padded[at] = values[r * columns + c] ?? NaN;
    }
  }
  const whole = await tensor(padded, { shape: [lines, length], dtype, device });
  const view = whole.slice([0, lines], [0, length - pad]);
  return order === 'row' ? view : view.transpose();
}

/** Matrices of one shape as one batch. */
export function uploadBatch(
  parts: readonly ReferenceMatrix[],
  dtype: PairwiseDType,
  device: Device,
): Promise<Tensor<PairwiseDType>> {
  const { rows = 0, columns = 0 } = parts[0] ?? {};
  const values = Float64Array.from(parts.flatMap((part) => [...part.values]));
  return tensor(values, { shape: [parts.length, rows, columns], dtype, device });
}

/** Expects a MercerError with this code, and returns its message. */
export async function expectCode(
  promise: Promise<unknown>,
  code: MercerErrorCode,
): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert(error instanceof MercerError, `expected a MercerError ${code}, got ${String(error)}`);
  expect(error.code).toBe(code);
  return error.message;
}
