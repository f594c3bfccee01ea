import { checkShape, formatShape, sizeOfShape } from './checked-size.js';
import { MercerError } from './mercer-error.js';

/** Where the elements of a view lie in its storage; strides and offset in elements. */
export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Strides with the last dimension fastest. */
export function rowMajorStrides(shape: readonly number[]): number[] {
  assertExtents(shape, 'rowMajorStrides');
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= Math.max(shape[i] ?? 1, 1);
  }
  return strides;
}

/** Strides with the first dimension fastest. */
export function columnMajorStrides(shape: readonly number[]): number[] {
  assertExtents(shape, 'columnMajorStrides');
  return rowMajorStrides(shape.toReversed()).reverse();
}

/** @throws MercerError INVALID_ARGUMENT for what is no list of numbers */
function assertExtents(shape: readonly number[], what: string): void {
  const isList = Array.isArray(shape) && shape.every((extent) => typeof extent === 'number');
  if (!isList) checkShape(shape, what);
}

/** True when the elements follow each other in row-major order without gaps. Strides of extents below 2 do not count. */
export function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  if (shape.includes(0)) return true;
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    const extent = shape[i] ?? 1;
    if (extent !== 1) {
      if (strides[i] !== step) return false;
      step *= extent;
    }
  }
  return true;
}

/**
 * True when the elements fill their range of the storage exactly once, in any order of the dimensions, all strides
 * positive: such a view can be moved as one block.
 */
export function isDense(shape: readonly number[], strides: readonly number[]): boolean {
  const dims: { extent: number; stride: number }[] = [];
  for (let i = 0; i < shape.length; i++) {
    const extent = shape[i] ?? 1;
    if (extent === 0) return true;
    if (extent !== 1) dims.push({ extent, stride: strides[i] ?? 0 });
  }
  dims.sort((a, b) => a.stride - b.stride);
  let step = 1;
  for (const dim of dims) {
    if (dim.stride !== step) return false;
    step *= dim.extent;
  }
  return true;
}

/** First and last element that a view touches, relative to its storage; undefined for a view without elements. */
export function elementRange(layout: Layout): { first: number; last: number } | undefined {
  let first = layout.offset;
  let last = layout.offset;
  for (let i = 0; i < layout.shape.length; i++) {
    const extent = layout.shape[i] ?? 1;
    if (extent === 0) return undefined;
    const reach = (extent - 1) * (layout.strides[i] ?? 0);
    if (reach < 0) first += reach;
    else last += reach;
  }
  return { first, last };
}

/**
 * Checks that a layout stays inside a storage of `elements` elements.
 *
 * @throws MercerError INVALID_ARGUMENT naming the range.
 */
export function checkLayout(layout: Layout, elements: number, what: string): void {
  const { shape, strides, offset } = layout;
  if (strides.length !== shape.length) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${strides.length} strides for shape ${formatShape(shape)}. Give one stride per dimension.`,
    );
  }
  for (const value of [...strides, offset]) {
    if (!Number.isSafeInteger(value)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: stride or offset ${value} is not an integer. Strides and offset count elements.`,
      );
    }
  }
  sizeOfShape(shape);
  const range = elementRange(layout);
  if (range === undefined) return;
  if (range.first < 0 || range.last >= elements || !Number.isSafeInteger(range.last)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: shape ${formatShape(shape)}, strides ${formatShape(strides)} and offset ${offset} touch elements ${range.first} to ${range.last} of ${elements}. Check strides and offset.`,
    );
  }
}
