import { describeList, describeValue } from '@mercer/options';
import { checkAxes, checkAxis, type Axes } from './arithmetic/axes.js';
import { checkShape, formatShape, sizeOfShape } from './checked-size.js';
import { isRowMajor, rowMajorStrides, type Layout } from './layout.js';
import { MercerError } from './mercer-error.js';

/**
 * What `slice` takes for one dimension: an index, which drops the dimension; `[start, stop, step]` with numpy's meaning
 * (negative values count from the end, null is the default, a negative step walks backwards); or null for all of it.
 */
export type SliceRange =
  | number
  | null
  | readonly [
      start?: number | null | undefined,
      stop?: number | null | undefined,
      step?: number | null | undefined,
    ];

/** The part of a view that the ranges select; missing trailing ranges select everything. */
export function sliceLayout(layout: Layout, ranges: readonly SliceRange[]): Layout {
  if (ranges.length > layout.shape.length) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `slice: ${ranges.length} ranges for shape ${formatShape(layout.shape)}. Give at most one range per dimension.`,
    );
  }
  const shape: number[] = [];
  const strides: number[] = [];
  let offset = layout.offset;
  layout.shape.forEach((extent, axis) => {
    const stride = layout.strides[axis] ?? 0;
    const range = ranges[axis] ?? null;
    if (range === null) {
      shape.push(extent);
      strides.push(stride);
      return;
    }
    if (typeof range === 'number') {
      offset += indexOf(range, extent, axis, layout.shape) * stride;
      return;
    }
    const { start, count, step } = resolveRange(range, extent, axis);
    if (count > 0) offset += start * stride;
    shape.push(count);
    strides.push(stride * step);
  });
  return { shape, strides, offset };
}

function indexOf(index: number, extent: number, axis: number, shape: readonly number[]): number {
  const wrapped = index < 0 ? index + extent : index;
  if (!Number.isSafeInteger(index) || wrapped < 0 || wrapped >= extent) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `slice: index ${index} is outside dimension ${axis} of shape ${formatShape(shape)}. Use ${-extent} to ${extent - 1}.`,
    );
  }
  return wrapped;
}

function resolveRange(
  range: Exclude<SliceRange, number | null>,
  extent: number,
  axis: number,
): { start: number; count: number; step: number } {
  if (!Array.isArray(range) || range.length > 3) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `slice: range ${describeValue(range)} for dimension ${axis}. Use an index, [start, stop, step] or null.`,
    );
  }
  const [start, stop, step] = range as readonly (number | null | undefined)[];
  const by = step ?? 1;
  for (const value of [start ?? 0, stop ?? 0, by]) {
    if (!Number.isSafeInteger(value)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `slice: ${describeValue(value)} in the range of dimension ${axis} is not an integer. Use integers or null.`,
      );
    }
  }
  if (by === 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `slice: step 0 in the range of dimension ${axis}. Use a positive or negative step.`,
    );
  }
  const low = by > 0 ? 0 : -1;
  const high = by > 0 ? extent : extent - 1;
  const clamp = (value: number): number =>
    Math.min(Math.max(value < 0 ? value + extent : value, low), high);
  const from = start === undefined || start === null ? (by > 0 ? low : high) : clamp(start);
  const to = stop === undefined || stop === null ? (by > 0 ? high : low) : clamp(stop);
  const count = Math.max(0, Math.ceil((to - from) / by));
  return { start: from, count, step: by };
}

/** The view walked backwards along axes. */
export function flipLayout(layout: Layout, axes: Axes | undefined): Layout {
  const flipped = checkAxes('flip', axes, layout.shape);
  const strides = [...layout.strides];
  let { offset } = layout;
  for (const axis of flipped) {
    const stride = strides[axis] ?? 0;
    // one without elements keeps its start, which may be the end of the memory
    if (!layout.shape.includes(0)) offset += ((layout.shape[axis] ?? 1) - 1) * stride;
    strides[axis] = -stride;
  }
  return { shape: layout.shape, strides, offset };
}

/** How many parts a split gives. @throws MercerError INVALID_ARGUMENT */
export function countOfParts(sections: number | readonly number[]): number {
  const given: unknown = sections;
  if (Array.isArray(given)) return given.length;
  if (Number.isSafeInteger(given) && Number(given) >= 1 && Number(given) <= MOST_PARTS) {
    return Number(given);
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `split: the sections are ${describeValue(given)}. Pass how many equal parts, from 1 to 2^20, or an array of their sizes.`,
  );
}

/** Parts, each a tensor of its own, that a split may have. */
const MOST_PARTS = 2 ** 20;

/** The parts of a view along an axis: as many equal ones, or of the sizes that are given. */
export function splitLayouts(
  layout: Layout,
  sections: number | readonly number[],
  axis: number,
): readonly Layout[] {
  const { shape } = layout;
  const at = checkAxis('split', axis, shape.length, `shape ${formatShape(shape)}`);
  const extent = shape[at] ?? 0;
  const stride = layout.strides[at] ?? 0;
  let { offset } = layout;
  return sizesOf(sections, extent, at, shape).map((size) => {
    const part = { shape: shape.with(at, size), strides: layout.strides, offset };
    offset += shape.includes(0) ? 0 : size * stride;
    // a part without elements at the end starts where there may be no memory
    return size === 0 ? { ...part, offset: layout.offset } : part;
  });
}

function sizesOf(
  sections: number | readonly number[],
  extent: number,
  axis: number,
  shape: readonly number[],
): readonly number[] {
  const count = countOfParts(sections);
  const where = `axis ${axis} of shape ${formatShape(shape)}`;
  if (typeof sections === 'number') {
    if (extent % count === 0) return new Array<number>(count).fill(extent / count);
    throw new MercerError(
      'SHAPE_MISMATCH',
      `split: ${where} has ${extent} elements, which are not ${count} equal parts. Pass an array of sizes that add up to ${extent}.`,
    );
  }
  const sizes = [...sections];
  for (const size of sizes as readonly unknown[]) {
    if (Number.isSafeInteger(size) && Number(size) >= 0) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `split: size ${describeValue(size)} in ${describeList(sizes)}. Pass sizes of 0 or more that add up to ${extent}.`,
    );
  }
  const sum = sizes.reduce((a, b) => a + b, 0);
  if (sum === extent) return sizes;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `split: sizes ${formatShape(sizes)} add up to ${sum}, and ${where} has ${extent} elements. Pass sizes that add up to ${extent}.`,
  );
}

/** Dimension `axes[i]` of the view becomes dimension i. */
export function permuteLayout(layout: Layout, axes: readonly number[]): Layout {
  const given: unknown = axes;
  if (!Array.isArray(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `permute: the axes are ${describeValue(given)}. Pass an array of them, as permute([1, 0]).`,
    );
  }
  const rank = layout.shape.length;
  const normal = axes.map((axis) => (axis < 0 ? axis + rank : axis));
  const seen = new Set(normal);
  const complete = normal.every((axis) => Number.isInteger(axis) && axis >= 0 && axis < rank);
  if (axes.length !== rank || seen.size !== rank || !complete) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `permute: axes ${formatShape(axes)} for shape ${formatShape(layout.shape)}. Name each of the ${rank} dimensions once.`,
    );
  }
  return {
    shape: normal.map((axis) => layout.shape[axis] ?? 1),
    strides: normal.map((axis) => layout.strides[axis] ?? 0),
    offset: layout.offset,
  };
}

/** The view repeated along dimensions of extent 1 and along new leading dimensions, with stride 0. */
export function broadcastLayout(layout: Layout, target: readonly number[]): Layout {
  const shape = checkShape(target, 'broadcastTo');
  const lead = shape.length - layout.shape.length;
  const fits =
    lead >= 0 &&
    layout.shape.every((extent, axis) => extent === 1 || extent === shape[axis + lead]);
  if (!fits) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `broadcastTo: shape ${formatShape(layout.shape)} does not broadcast to ${formatShape(shape)}. Trailing extents must be equal or 1.`,
    );
  }
  const strides = shape.map((extent, axis) => {
    const own = layout.shape[axis - lead];
    if (axis < lead || own === undefined) return 0;
    return own === 1 && extent !== 1 ? 0 : (layout.strides[axis - lead] ?? 0);
  });
  return { shape, strides, offset: layout.offset };
}

/** The shape to which shapes broadcast together. */
export function broadcastShapes(...shapes: readonly (readonly number[])[]): number[] {
  for (const shape of shapes) if (!Array.isArray(shape)) checkShape(shape, 'broadcastShapes');
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, axis) => {
    let extent = 1;
    for (const shape of shapes) {
      const own = shape[axis - (rank - shape.length)] ?? 1;
      if (own === 1) continue;
      if (extent !== 1 && extent !== own) {
        throw new MercerError(
          'SHAPE_MISMATCH',
          `broadcast: shapes ${shapes.map(formatShape).join(' and ')} do not fit. Trailing extents must be equal or 1.`,
        );
      }
      extent = own;
    }
    return extent;
  });
}

/**
 * The same elements in row-major order under another shape, without a copy. One extent may be -1.
 *
 * @throws MercerError NOT_CONTIGUOUS when the strides do not allow it.
 */
export function reshapeLayout(layout: Layout, target: readonly number[]): Layout {
  const given: unknown = target;
  if (!Array.isArray(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `reshape: the shape is ${describeValue(given)}. Pass an array of extents, as reshape([3, 4]).`,
    );
  }
  const size = sizeOfShape(layout.shape);
  const shape = checkShape(resolveUnknown(layout.shape, target, size), 'reshape');
  if (sizeOfShape(shape) !== size) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `reshape: ${formatShape(layout.shape)} has ${size} elements and ${formatShape(shape)} has ${sizeOfShape(shape)}. Choose a shape of the same size.`,
    );
  }
  if (isRowMajor(layout.shape, layout.strides)) {
    return { shape, strides: rowMajorStrides(shape), offset: layout.offset };
  }
  const strides = regroup(layout, shape);
  if (strides === undefined) {
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `reshape: shape ${formatShape(layout.shape)} with strides ${formatShape(layout.strides)} cannot be seen as ${formatShape(shape)} without a copy. Call (await t.contiguous()).reshape(...).`,
    );
  }
  return { shape, strides, offset: layout.offset };
}

function resolveUnknown(from: readonly number[], to: readonly number[], size: number): number[] {
  const unknown = to.filter((extent) => extent === -1).length;
  if (unknown === 0) return [...to];
  const known = sizeOfShape(to.filter((extent) => extent !== -1));
  if (unknown > 1 || known === 0 || size % known !== 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `reshape: ${formatShape(to)} leaves no single answer for -1 with ${size} elements of shape ${formatShape(from)}. Use -1 once, and a divisor of the size for the rest.`,
    );
  }
  return to.map((extent) => (extent === -1 ? size / known : extent));
}

/** Splits and merges dimensions group by group; a merge needs outer stride = inner extent x inner stride. */
function regroup(layout: Layout, shape: readonly number[]): number[] | undefined {
  const from: { extent: number; stride: number }[] = [];
  layout.shape.forEach((extent, axis) => {
    if (extent !== 1) from.push({ extent, stride: layout.strides[axis] ?? 0 });
  });
  const strides = new Array<number>(shape.length).fill(1);
  let i = 0;
  let j = 0;
  while (i < from.length) {
    const begin = i;
    const first = j;
    let have = from[i++]?.extent ?? 1;
    let want = shape[j++] ?? 1;
    while (have !== want) {
      if (have < want) have *= from[i++]?.extent ?? 1;
      else want *= shape[j++] ?? 1;
    }
    for (let k = begin; k < i - 1; k++) {
      const outer = from[k];
      const inner = from[k + 1];
      if (outer === undefined || inner === undefined) return undefined;
      if (outer.stride !== inner.extent * inner.stride) return undefined;
    }
    let step = from[i - 1]?.stride ?? 1;
    for (let k = j - 1; k >= first; k--) {
      strides[k] = step;
      step *= shape[k] ?? 1;
    }
  }
  return strides;
}
