import { dtypeBytes, type DType } from '@mercer/kernels';
import { describeList, describeValue } from '@mercer/options';
import { MercerError } from './mercer-error.js';

/** Largest rank of a tensor. */
export const MAX_RANK = 32;

/** `[3, 4]` as it appears in messages. */
export function formatShape(shape: readonly number[]): string {
  const texts = shape.map((extent: unknown) =>
    typeof extent === 'number' || typeof extent === 'string' ? extent : describeValue(extent),
  );
  return `[${texts.join(', ')}]`;
}

/**
 * Checks a shape and freezes a copy of it.
 *
 * @throws MercerError INVALID_ARGUMENT for an extent that is not a count, or a rank above 32.
 */
export function checkShape(shape: readonly number[], what: string): readonly number[] {
  const given: unknown = shape;
  if (!Array.isArray(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the shape is ${describeValue(given)}. Pass an array of extents such as [3, 4].`,
    );
  }
  if (shape.length > MAX_RANK) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: rank ${shape.length} is above the limit of ${MAX_RANK}. Merge dimensions.`,
    );
  }
  for (const extent of shape as readonly unknown[]) {
    if (typeof extent !== 'number' || !Number.isSafeInteger(extent) || extent < 0) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: extent ${describeValue(extent)} in shape ${describeList(shape)} is not a count. Use integers from 0 to 2^53 - 1.`,
      );
    }
  }
  return Object.freeze([...shape]);
}

/**
 * Number of elements of a shape, exact up to 2^53 - 1.
 *
 * @throws MercerError INVALID_ARGUMENT when the product is larger.
 */
export function sizeOfShape(shape: readonly number[]): number {
  let size = 1;
  for (const extent of shape) {
    // A zero makes the whole product zero, whatever an earlier partial product was.
    if (extent === 0) return 0;
    size *= extent;
  }
  if (!Number.isSafeInteger(size)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `shape ${formatShape(shape)}: more than 2^53 - 1 elements. Split the work into smaller tensors.`,
    );
  }
  return size;
}

/**
 * Bytes of `size` elements, exact up to 2^53 - 1.
 *
 * @throws MercerError INVALID_ARGUMENT when the product is larger.
 */
export function bytesOf(size: number, dtype: DType): number {
  const bytes = size * dtypeBytes(dtype);
  if (!Number.isSafeInteger(bytes)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${size} elements of ${dtype}: more than 2^53 - 1 bytes. Split the work into smaller tensors.`,
    );
  }
  return bytes;
}
