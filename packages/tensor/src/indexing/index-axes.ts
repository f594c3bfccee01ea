import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { add, ge, lt, mul, where } from '../arithmetic/functions.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { attachMethods } from '../attach-methods.js';
import { Turn } from '../call-order.js';
import { assertNotPreparing } from '../capture/refusals.js';
import { formatShape, sizeOfShape } from '../checked-size.js';
import type { WorkOptions } from '../device.js';
import type { ClassDType } from '../creators/one-hot.js';
import { MercerError } from '../mercer-error.js';
import { heard, pending, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { SHAPING_OPTIONS, type ShapingOptions } from '../shaping/shaping-options.js';
import { assertTensor, isTensor, type Tensor } from '../tensor.js';
import { isTraced, promisesTraced } from '../trace/traced-value.js';
import { broadcastShapes } from '../views.js';
import {
  checkIndices,
  dtypeFor,
  placedIndices,
  readIndices,
  type HostIndices,
  type ReadIndices,
} from './indices.js';
import { take } from './take.js';

/** What {@link index} takes along one axis: indices, a mask of its elements, or null for all of it. */
export type AxisIndices = TensorOperand<ClassDType | 'bool'> | HostIndices | null;

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Indices along an axis, and how many elements it has. */
interface AlongAxis {
  readonly axis: number;
  readonly extent: number;
  readonly indices: ReadIndices;
}

const invalid = (what: string): MercerError =>
  new MercerError('INVALID_ARGUMENT', `index: ${what}`);

function alongAxes(x: Tensor, entries: readonly unknown[]): readonly AlongAxis[] {
  const { shape, rank } = x;
  if (entries.length > rank) {
    throw invalid(`${entries.length} entries for ${x.label}. Pass at most one for each axis.`);
  }
  const along = entries.flatMap((indices, axis) => {
    if (indices === null) return [];
    return [{ axis, extent: shape[axis] ?? 0, indices: indices as ReadIndices }];
  });
  if (along.length === 0) throw invalid('all axes are null. Pass indices for one of them.');
  return along;
}

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

/** Where a mask is true, which is read back; other indices as they are. */
async function withoutMask(one: AlongAxis, { stream, signal }: ShapingOptions): Promise<AlongAxis> {
  const { indices: mask, extent, axis } = one;
  if (!isTensor(mask) || (mask as Tensor).dtype !== 'bool') return one;
  if (mask.rank !== 1 || mask.shape[0] !== extent) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `index: a mask of shape ${formatShape(mask.shape)} for axis ${axis} with ${extent} elements. Pass a mask of the axis; compress(x, mask) takes one of all axes.`,
    );
  }
  assertNotPreparing('index');
  const flags = await mask.toTypedArray({ stream, signal });
  const places = [...flags.keys()].filter((at) => Boolean(flags[at]));
  return { axis, extent, indices: { data: Float64Array.from(places), shape: [places.length] } };
}

async function indexed(
  x: Tensor,
  entries: readonly unknown[],
  options: ShapingOptions,
): Promise<Tensor> {
  if (!isTraced(x)) assertTensor(x, 'index: x');
  const given = alongAxes(x, entries);
  const { stream, signal } = options;
  const read = [x, ...given.map(({ indices }) => indices)];
  const storages = (all: readonly unknown[]) =>
    all.flatMap((one) => (isTensor(one) && !one.disposed ? [one.storage] : []));
  const turn = new Turn(storages(read), storages([options.out]));
  const made: Tensor[] = [];
  try {
    const along: AlongAxis[] = [];
    for (const one of given) along.push(await turn.run(() => withoutMask(one, options)));
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
      if (!isTraced(indices)) checkIndices('index', indices);
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
    const dense = await turn.run(() => x.permute(order).contiguous({ stream, signal }));
    made.push(dense);
    const table = dense.reshape([...extents.slice(0, first), total, ...extents.slice(first)]);
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
 * A mask of one axis stands for the places where it is true; it is read back. `compress` takes a mask of all axes, and `where(mask, value, x)` assigns.
 *
 * @param x any dtype, rank and strides
 * @param indices for each axis from the first on: int64, int32 or uint8 tensors, numbers or nested numbers, a bool tensor of the axis, or null for
 *   all of it
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
    const read = entries.map((one) => (one === null ? one : readIndices('index', one)));
    return whenArrived([given, x, ...read], async ([, one, ...all]) =>
      indexed(one as Tensor, all, given),
    );
  };
  const result = pending(work()) as Pending<Tensor<D>>;
  const all: readonly unknown[] = isList(entries) ? [x, ...entries] : [x];
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

attachMethods({ index: { gives: 'tensor', takesPending: true, call: index } });
