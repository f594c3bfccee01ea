import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { add, ge, lt, mul, where } from '../arithmetic/functions.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { attachMethods } from '../attach-methods.js';
import { memoryAmong, Turn } from '../call-order.js';
import { assertNotPreparing } from '../capture/refusals.js';
import { formatShape, sizeOfShape } from '../checked-size.js';
import type { WorkOptions } from '../device.js';
import type { ClassDType } from '../creators/one-hot.js';
import { rowMajorStrides } from '../layout.js';
import { MercerError } from '../mercer-error.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { SHAPING_OPTIONS, type ShapingOptions } from '../shaping/shaping-options.js';
import { assertTensor, isTensor, type Tensor } from '../tensor.js';
import { isTraced, promisesTraced } from '../trace/traced-value.js';
import { broadcastShapes, type SliceRange } from '../views.js';
import {
  checkIndices,
  dtypeFor,
  placedIndices,
  readIndices,
  type HostIndices,
  type ReadIndices,
} from './indices.js';
import { take } from './take.js';

/** Elements of an axis with the meaning of numpy's `start:stop:step`; what is not said is the default. */
export interface IndexRange {
  readonly start?: number | undefined;
  readonly stop?: number | undefined;
  readonly step?: number | undefined;
}

/** What {@link index} takes along an axis: indices, a mask, which is of as many axes as it has, a range, or null for all of it. */
export type AxisIndices = TensorOperand<ClassDType | 'bool'> | HostIndices | IndexRange | null;

const RANGE: OptionNames<IndexRange> = { start: true, stop: true, step: true };

/** Ranges are plain objects, as nothing else that is taken is. */
const isRange = (entry: unknown): entry is IndexRange =>
  typeof entry === 'object' && entry !== null && Object.getPrototypeOf(entry) === Object.prototype;

/** An entry as it was when the call was made. */
const readEntry = (entry: unknown): unknown => {
  if (isRange(entry)) return new ReadRange(readOptions('index: a range', entry, RANGE));
  return entry === null ? entry : readIndices('index', entry);
};

class ReadRange {
  constructor(readonly range: IndexRange) {}
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Indices along an axis, and how many elements it has. */
interface AlongAxis {
  readonly axis: number;
  readonly extent: number;
  readonly indices: ReadIndices;
}

const invalid = (what: string): MercerError =>
  new MercerError('INVALID_ARGUMENT', `index: ${what}`);

/** What is taken of a tensor: the elements of ranges of it, by the indices and masks of other axes. */
interface Parts {
  readonly ranged: Tensor;
  /** The first axis of each. */
  readonly entries: readonly { readonly axis: number; readonly indices: ReadIndices }[];
}

function partsOf(x: Tensor, given: readonly unknown[]): Parts {
  const entries: { axis: number; indices: ReadIndices }[] = [];
  const ranges: SliceRange[] = [];
  let axis = 0;
  for (const entry of given) {
    if (entry instanceof ReadRange) {
      const { start, stop, step } = entry.range;
      ranges[axis++] = [start, stop, step];
      continue;
    }
    if (entry !== null) entries.push({ axis, indices: entry as ReadIndices });
    const count = isMask(entry) ? entry.rank : 1;
    for (let k = 0; k < count; k++) ranges[axis++] = null;
  }
  if (axis > x.rank) {
    throw invalid(
      `the ${given.length} entries are of ${axis} axes for ${x.label}. Pass at most one for each axis; a mask is of as many as it has.`,
    );
  }
  if (entries.length === 0) {
    throw invalid(
      'all axes are null or ranges. Pass indices for one of them; slice() takes ranges.',
    );
  }
  const ranged = ranges.every((one) => one === null) ? x : x.slice(...ranges);
  return { ranged, entries };
}

const isMask = (entry: unknown): entry is Tensor<'bool'> =>
  (isTensor(entry) || isTraced(entry)) && (entry as Tensor).dtype === 'bool';

/** The shape of all indices. @throws MercerError SHAPE_MISMATCH */
function commonShape(along: readonly AlongAxis[]): readonly number[] {
  const shapes = along.map(({ indices }) => indices.shape);
  try {
    return broadcastShapes(...shapes);
  } catch (cause) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `index: indices of shapes ${shapes.map((one) => formatShape(one)).join(' and ')} do not broadcast. Counted from the last axis, extents must be equal or 1.`,
      { cause },
    );
  }
}

/** Indices along an axis, on the device. */
interface PlacedAxis {
  readonly by: Tensor;
  readonly extent: number;
}

/** Places in row-major order along axes that are one; behind the last where an index is outside. */
function flatPlaces(
  along: readonly PlacedAxis[],
  total: number,
  options: WorkOptions,
): TensorOperand {
  let places: TensorOperand | undefined;
  for (const { by: one, extent } of along) {
    const counted = where(lt(one, 0), add(one, extent), one);
    // what is outside stays so: nothing that is added is negative
    const own = where(lt(one, extent), where(ge(one, -extent), counted, total), total);
    places = places === undefined ? own : add(mul(places, extent), own);
  }
  const found = places as TensorOperand;
  const all = [lt(found, total), found, total] as const;
  const isPlain = options.stream === undefined && options.signal === undefined;
  return isPlain ? where(...all) : where(...all, options);
}

/** Indices along an axis; those of a mask, which is read back, are the places where it is true, along each of its axes. */
async function alongAxes(
  shape: readonly number[],
  { axis, indices }: Parts['entries'][number],
  { stream, signal }: ShapingOptions,
): Promise<readonly AlongAxis[]> {
  if (!isMask(indices)) return [{ axis, extent: shape[axis] ?? 0, indices }];
  const mask = indices as Tensor<'bool'>;
  const own = shape.slice(axis, axis + mask.rank);
  if (mask.rank === 0 || own.some((extent, k) => extent !== mask.shape[k])) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `index: a mask of shape ${formatShape(mask.shape)} from axis ${axis} of shape ${formatShape(shape)} on. Pass a mask whose extents are those of its axes.`,
    );
  }
  assertNotPreparing('index');
  const flags = await mask.toTypedArray({ stream, signal });
  const places = [...flags.keys()].filter((at) => Boolean(flags[at]));
  const strides = rowMajorStrides(own);
  return own.map((extent, k) => {
    const data = Float64Array.from(places, (at) => Math.floor(at / (strides[k] ?? 1)) % extent);
    return { axis: axis + k, extent, indices: { data, shape: [places.length] } };
  });
}

async function indexed(
  whole: Tensor,
  all: readonly unknown[],
  options: ShapingOptions,
): Promise<Tensor> {
  if (!isTraced(whole)) assertTensor(whole, 'index: x');
  const { ranged: x, entries } = partsOf(whole, all);
  const { stream, signal } = options;
  const read = [x, ...entries.map(({ indices }) => indices)];
  const turn = new Turn(memoryAmong(read), memoryAmong([options.out]));
  const made: Tensor[] = x === whole ? [] : [x];
  try {
    const along: AlongAxis[] = [];
    for (const one of entries) {
      along.push(...(await turn.run(() => alongAxes(x.shape, one, options))));
    }
    commonShape(along);
    const placed: PlacedAxis[] = [];
    for (const { indices, extent } of along) {
      const isHost = !isTensor(indices) && !isTraced(indices);
      if (isHost) {
        const place = { device: x.device, stream, signal };
        const by = await turn.run(() => placedIndices('index', indices as never, extent, place));
        made.push(by);
        placed.push({ by, extent });
        continue;
      }
      if (!isTraced(indices)) turn.run(() => checkIndices('index', indices));
      placed.push({ by: indices as Tensor, extent });
    }
    const axes = along.map(({ axis }) => axis);
    const isRun = axes.every((axis, at) => at === 0 || axis === (axes[at - 1] ?? 0) + 1);
    // as numpy: where the indexed axes were, in front where they are no neighbours
    const others = [...x.shape.keys()].filter((axis) => !axes.includes(axis));
    const first = isRun ? (axes[0] ?? 0) : 0;
    const order = [...others.slice(0, first), ...axes, ...others.slice(first)];
    const extents = others.map((axis) => x.shape[axis] ?? 0);
    const total = sizeOfShape(placed.map(({ extent }) => extent));
    const inOrder = turn.run(() => x.permute(order));
    made.push(inOrder);
    const dense = await turn.run(() => inOrder.contiguous({ stream, signal }));
    made.push(dense);
    const table = dense.reshape([...extents.slice(0, first), total, ...extents.slice(first)]);
    made.push(table);
    const dtype = dtypeFor(total + 1);
    const wide: PlacedAxis[] = [];
    for (const { by, extent } of placed) {
      if (by.dtype === dtype) {
        wide.push({ by, extent });
        continue;
      }
      const cast = await turn.run(() => by.cast(dtype, { stream, signal }));
      made.push(cast);
      wide.push({ by: cast, extent });
    }
    const places = await turn.run(() => flatPlaces(wide, total, { stream, signal }));
    made.push(places);
    return await turn.run(() => take(table, places as never, first, options));
  } finally {
    turn.end();
    for (const one of made) one.dispose();
  }
}

/**
 * Elements by indices along several axes at once, as numpy's `x[i, :, j]`, which is `index(x, [i, null, j])`: the indices broadcast together, and
 * their shape stands where the axes were, in front where these are no neighbours. Negative ones count from the end. An index outside throws where
 * the host has it; one of a tensor gives NaN, or 0 of dtypes that have none. Gradients are added up where the elements came from.
 *
 * ```ts
 * import { index, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1, 2, 3], [4, 5, 6]], where);
 * console.log(await index(x, [[0, 1, 1], [2, 0, -1]]).toNested()); // [ 3, 4, 6 ]
 * const rows = tensor([[0], [1]], { dtype: 'int32', ...where });
 * console.log(await x.index([rows, [0, 2]]).toNested()); // [ [ 1, 3 ], [ 4, 6 ] ]
 * ```
 *
 * A mask stands for the places where it is true along its axes, and is read back. A range, which is numpy's `start:stop:step` as an object, takes part
 * of an axis. `where(mask, value, x)` assigns.
 *
 * ```ts
 * import { index, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], { device: 'cpu' });
 * const mask = tensor([[true, false], [true, true]], { device: 'cpu' });
 * console.log(await index(x, [mask, 1]).toNested()); // [ 2, 6, 8 ]
 * console.log(await x.index([[1, 0], { stop: 1 }, [0, 1]]).toNested()); // [ [ 5 ], [ 2 ] ]
 * ```
 *
 * @param x any dtype, rank and strides
 * @param indices for each axis from the first on: int64, int32 or uint8 tensors, numbers or nested numbers, a range, or null for all of it; a bool
 *   tensor is for as many axes as it has
 * @returns row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; with `out` also OVERLAP
 */
export function index<D extends DType>(
  x: TensorOperand<D>,
  indices: readonly AxisIndices[],
  options?: ShapingOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  const entries: unknown = indices;
  const work = async (): Promise<Tensor> => {
    if (!isList(entries)) {
      throw invalid(
        `the indices are ${describeValue(entries)}. Pass a list with indices, or null, for each axis.`,
      );
    }
    heard([x, ...entries]);
    const given = readOptions('index', options, SHAPING_OPTIONS);
    const read = entries.map(readEntry);
    return whenArrived([given, x, ...read], async ([, one, ...all]) =>
      indexed(one as Tensor, all, given),
    );
  };
  const all: readonly unknown[] = isList(entries) ? [x, ...entries] : [x];
  const result = pendingAfter(all, work()) as Pending<Tensor<D>>;
  return all.some(isTraced) ? promisesTraced(result) : result;
}

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** Elements by indices along several axes at once: see {@link index}. */
    index(
      indices: readonly AxisIndices[],
      options?: ShapingOptions<NoInfer<D>>,
    ): Pending<Tensor<D>>;
  }
}

attachMethods({ index });
