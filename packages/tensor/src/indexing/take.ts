import type { DType, SumDType } from '@mercer/kernels';
import { attachMethods } from '../attach-methods.js';
import { checkAxis } from '../arithmetic/axes.js';
import { formatShape, sizeOfShape } from '../checked-size.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import type { ClassDType } from '../creators/one-hot.js';
import { addGatherRows } from '../gather-rows.js';
import { isRowMajor } from '../layout.js';
import { CallSteps } from '../operation/call-steps.js';
import { only, Operation, prepareOne, type CallIdentity } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, isPending, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { rowsOf, type RowsView } from '../row-index.js';
import { addScatterAdd } from '../scatter-add.js';
import { SHAPING_OPTIONS, type ShapingOptions } from '../shaping/shaping-options.js';
import { assertTensor, isTensor, OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import { checkOut, commonDevice } from '../tensor-checks.js';
import { differentiable } from '../trace/differentiable.js';
import { isTraced } from '../trace/traced-value.js';
import { exampleShape, spreadOver, type AnyCall } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import type {
  BatchRule,
  DerivativeRule,
  KnownValue,
  Primitive,
  Value,
} from '../trace/primitive.js';
import { addFlatIndex, takenRows, type Taking } from './flat-index.js';
import {
  checkIndices,
  placedIndices,
  readIndices,
  type HostIndices,
  type ReadIndices,
} from './indices.js';

/** Where elements are taken: a shape, and an axis of it. */
interface From {
  readonly what: Taking;
  readonly shape: readonly number[];
  readonly axis: number | undefined;
}

/** What `x` is: what elements are taken of, or, of the other direction, what was taken, for a gradient. */
type Call = readonly [x: Tensor, indices: ReadIndices, from: From];

const rules = {
  what: ([, , { what }]: Call): string => what,
  options: SHAPING_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: (
    [x, indices, { what, shape, axis }]: Call,
    { out }: ShapingOptions,
  ): CallIdentity | undefined => {
    if (axis !== undefined && typeof (axis as unknown) !== 'number') return undefined;
    if (!isTensor(indices)) return { key: undefined, tensors: { inputs: [x], outs: [out] } };
    const key = `${what} ${axis} ${shape.join()}`;
    return { key, tensors: { inputs: [x, indices], outs: [out] } };
  },
  place: async (
    [x, indices, from]: Call,
    { stream, signal }: ShapingOptions,
    made: Tensor[],
  ): Promise<Call> => {
    const { what, shape, axis } = from;
    if (isTensor(indices) || !('data' in indices)) return [x, indices, from];
    assertTensor(x, `${what}: x`);
    const { extent } = takenRows(what, shape, indices.shape, axis);
    const placed = await placedIndices(what, indices, extent, { device: x.device, stream, signal });
    made.push(placed);
    return [x, placed, from];
  },
};

const taking = new Operation<Call, ShapingOptions>({
  ...rules,
  plan: ([x, indices, { what, shape: whole, axis }], { out }) => {
    assertTensor(x, `${what}: x`);
    checkIndices(what, indices);
    const { dtype } = x;
    const inputs = [x, indices];
    const device = coreOf(commonDevice(inputs, what));
    const taken = takenRows(what, whole, indices.shape, axis);
    const { shape, rows } = taken;
    if (out !== undefined) checkOut(out, { shape, dtype, device }, inputs, what);
    const tensors = { inputs, outs: [out] };
    const steps = new CallSteps(device, tensors);
    const to = steps.rowMajorResult({ shape, dtype });
    if (sizeOfShape(shape) > 0) {
      const areRows = what === 'take' && axis !== undefined && taken.axis === 0;
      const table = areRows ? rowsOf(steps, 0) : denseRows(steps, taken.columns);
      addGatherRows(steps, { table, rows, by: addFlatIndex(steps, 1, taken), to });
    }
    return { tensors, steps };
  },
});

/** Rows of as many elements of the first input, which is copied where it is not dense. */
function denseRows(steps: CallSteps, columns: number): RowsView {
  const x = steps.input(0);
  const view = isRowMajor(x.shape, x.strides) ? x : steps.rowMajorCopy(0);
  return { view, columns, stride: columns };
}

/** The sum of all that was taken of each element: what takes cotangents back. */
const returning = new Operation<Call, ShapingOptions>({
  ...rules,
  plan: ([x, indices, { what, shape, axis }]) => {
    checkIndices(what, indices);
    const inputs = [x, indices];
    const tensors = { inputs, outs: [undefined] };
    const steps = new CallSteps(coreOf(commonDevice(inputs, what)), tensors);
    const taken = takenRows(what, shape, indices.shape, axis);
    const { rows, columns } = taken;
    const sum: SumDType = x.dtype === 'float64' ? 'float64' : 'float32';
    const to = steps.rowMajorResult({ shape, dtype: x.dtype }, sum);
    const given = denseRows(steps, columns);
    const view = x.dtype === sum ? given.view : steps.scratchMemory({ shape: x.shape, dtype: sum });
    if (x.dtype !== sum) steps.copy(given.view, view);
    if (sizeOfShape(shape) > 0) {
      const by = addFlatIndex(steps, 1, taken);
      addScatterAdd(steps, { terms: { ...given, view }, by, rows, to });
    }
    return { tensors, steps };
  },
});

type Return = (g: Value, indices: unknown, from: From) => Value;

const returned: Return = differentiable<
  Return,
  readonly [g: KnownValue, indices: Tensor<ClassDType>, from: From]
>(
  'take',
  (g, indices, from) =>
    returning.one([g as Tensor, readIndices(from.what, indices) as ReadIndices, from], undefined),
  {
    vjp: (g, { args: [, indices, { what, axis }] }) => [() => FUNCTIONS[what](g, indices, axis)],
    jvp: 'linear',
  },
  ({ args: [g, indices, { what, shape, axis }], mapped: [ofG, ofIndices], size }) => {
    const whole = [size, ...shape];
    if (what === 'takeAlongAxis') {
      const [all, by] = [spreadOver(g, ofG, size), besideMapped(indices, ofIndices)];
      return returned(all, by, { what, shape: whole, axis: behindMapped(what, axis ?? -1, shape) });
    }
    const [outer, extent, inner] = aroundAxis(shape, axis);
    const grouped = [size, outer, extent, inner];
    const all = spreadOver(g, ofG, size).contiguous();
    if (ofIndices !== true) {
      const count = sizeOfShape(g.shape.slice(ofG === true ? 1 : 0)) / (outer * inner || 1);
      const parts = all.reshape([size, outer, count, inner]);
      const flat =
        isTensor(indices) || isTraced(indices)
          ? (indices as Value).contiguous().reshape([-1])
          : indices;
      return returned(parts, flat, { what, shape: grouped, axis: 2 }).reshape(whole);
    }
    const [, ...own] = (indices as unknown as KnownValue).shape;
    const count = sizeOfShape(own);
    const by = (indices as Value).contiguous().reshape([size, 1, count, 1]);
    const along = { what: 'takeAlongAxis', shape: grouped, axis: 2 } as const;
    return returned(all.reshape([size, outer, count, inner]), by, along).reshape(whole);
  },
  'one call',
);

/** Extents before an axis, along it and behind it, or of all elements. @throws MercerError INVALID_ARGUMENT */
function aroundAxis(
  shape: readonly number[],
  axis: number | undefined,
): readonly [outer: number, extent: number, inner: number] {
  if (axis === undefined) return [1, sizeOfShape(shape), 1];
  const at = checkAxis('take', axis, shape.length, `shape ${formatShape(shape)}`);
  return [sizeOfShape(shape.slice(0, at)), shape[at] ?? 0, sizeOfShape(shape.slice(at + 1))];
}

const behindMapped = (what: Taking, axis: number, shape: readonly number[]): number =>
  checkAxis(what, axis, shape.length, `shape ${formatShape(shape)}`) + 1;

/** Indices of all examples that have none of their own: of the host, or a tensor. */
function besideMapped(indices: unknown, isMapped: unknown): unknown {
  if (isMapped === true) return indices;
  const isValue = isTensor(indices) || isPending(indices) || isTraced(indices);
  if (!isValue) return [indices];
  return (indices as Value).reshape([1, ...(indices as KnownValue).shape]);
}

/** How {@link take} and {@link takeAlongAxis} are called. */
export interface TakeCall {
  <D extends DType>(
    x: TensorOperand<D>,
    indices: TensorOperand<ClassDType> | HostIndices,
    axis?: number,
    options?: ShapingOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /**
   * Compiles for tensors like these, and gives a synchronous function of tensors for which the same kernels are launched. Indices are a
   * tensor there.
   */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    indices: Tensor<ClassDType>,
    axis?: number,
    options?: ShapingOptions<NoInfer<D>>,
  ) => Promise<(x: Tensor<D>, indices: Tensor<ClassDType>, options?: OutOption<D>) => Tensor<D>>;
}

function takeCall(what: Taking, usualAxis: number | undefined): TakeCall {
  const run = (
    x: unknown,
    indices: unknown,
    axis = usualAxis,
    options?: ShapingOptions,
  ): Pending<Tensor<never>> => {
    const call = async (): Promise<Tensor> => {
      heard([x, indices]);
      const given = readOptions(what, options, SHAPING_OPTIONS);
      const read = readIndices(what, indices);
      return whenArrived([x, read, given], async ([one, by]) =>
        only(await taking.call(callOf(what, one, by, axis), given)),
      );
    };
    const result =
      recorded(PRIMITIVES[what], [x, indices, axis, options]) ?? pendingAfter([x, indices], call());
    return result as Pending<Tensor<never>>;
  };
  const prepare = async (
    example: unknown,
    indices: unknown,
    axis = usualAxis,
    options?: ShapingOptions,
  ) => {
    const prepared = await prepareOne(taking, callOf(what, example, indices, axis), options);
    return (x: unknown, by: unknown, free?: object) =>
      prepared(callOf(what, x, by, axis), free) as Tensor<never>;
  };
  return Object.assign(run, { prepare });
}

/** @throws MercerError INVALID_ARGUMENT, DISPOSED for what is no tensor */
function callOf(what: Taking, x: unknown, indices: unknown, axis: number | undefined): Call {
  assertTensor(x, `${what}: x`);
  return [x, indices as ReadIndices, { what, shape: x.shape, axis }];
}

/**
 * Elements by index along an axis, as numpy's take: element `[..., k, ...]` of the result is `x[..., indices[k], ...]`, bit by bit, k going
 * through all axes of the indices. Negative indices count from the end.
 *
 * An index of the host that names no element is refused. One of a tensor is not: a device that must not wait for the host cannot throw. What it
 * takes is NaN, or 0 of dtypes without one, as in `gatherRows`. Gradients are added up where an element is taken several times.
 *
 * ```ts
 * import { take, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1, 2, 3], [4, 5, 6]], where);
 * console.log(await take(x, [2, -3], 1).toNested()); // [ [ 3, 1 ], [ 6, 4 ] ]
 * console.log(await x.take(await tensor(Int32Array.of(1), where), 0).toNested()); // [ [ 4, 5, 6 ] ]
 * console.log(await take(x, 4).item()); // 5
 *
 * const columns = await tensor(Int32Array.of(2, 0), where);
 * const taken = await take.prepare(x, columns, 1);
 * console.log(await taken(x, columns).toNested()); // [ [ 3, 1 ], [ 6, 4 ] ]
 * ```
 *
 * @param x any dtype, rank and strides; where it is not dense it is copied first, but for gaps between rows along axis 0
 * @param indices int64, int32 or uint8 of any shape, or a number or nested arrays of the host; at most 2^31 - 1 are named in all
 * @param axis counted from the end where it is negative; default: of all elements, one behind the other in row-major order
 * @returns x's shape with that of the indices in place of the axis; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; with `out` also SHAPE_MISMATCH, OVERLAP
 */
export const take: TakeCall = takeCall('take', undefined);

/**
 * Elements by index, with indices of their own for each place beside an axis, as numpy's take_along_axis: element `[i, k, j]` of the result
 * is `x[i, indices[i, k, j], j]`. What argMax with `keepDims` or `argSort` say is so taken. Indices that name no element: see {@link take}.
 *
 * ```ts
 * import { takeAlongAxis, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[3, 1, 2], [7, 9, 8]], { device: 'cpu' });
 * console.log(await takeAlongAxis(x, [[1, 2], [0, 0]]).toNested()); // [ [ 1, 2 ], [ 7, 7 ] ]
 * console.log(await x.takeAlongAxis(x.argMax(1, { keepDims: true }), 1).toNested()); // [ [ 3 ], [ 9 ] ]
 *
 * const places = await x.argMax(1, { keepDims: true });
 * const largest = await takeAlongAxis.prepare(x, places, 1);
 * console.log(await largest(x, places).toNested()); // [ [ 3 ], [ 9 ] ]
 * ```
 *
 * @param x any dtype and strides, rank 1 or more; where it is not dense it is copied first
 * @param indices int64, int32 or uint8, or nested arrays of the host, of x's rank; beside the axis with x's extents or 1
 * @param axis counted from the end where it is negative; default: the last
 * @returns x's shape with as many elements along the axis as the indices have; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; with `out` also OVERLAP
 */
export const takeAlongAxis: TakeCall = takeCall('takeAlongAxis', -1);

const FUNCTIONS = { take, takeAlongAxis } as const;

type Taken = readonly [x: KnownValue, indices: unknown, axis?: number, options?: ShapingOptions];

const mapTake: BatchRule<Taken> = ({ args: [x, indices, axis, ...rest], mapped, size, call }) => {
  const run = call as AnyCall;
  const [ofX, ofIndices] = mapped;
  const shape = exampleShape(x, ofX);
  if (axis !== undefined && shape.length === 0) return undefined;
  if (ofIndices !== true) {
    if (axis !== undefined) return run(x, indices, behindMapped('take', axis, shape), ...rest);
    return run(x.contiguous().reshape([size, sizeOfShape(shape)]), indices, 1, ...rest);
  }
  const by = indices as KnownValue;
  const own = by.shape.slice(1);
  const at = axis === undefined ? 0 : behindMapped('take', axis, shape) - 1;
  if (ofX !== true) {
    const taken = run(x, by, axis, ...rest);
    const axes = (axis === undefined ? own : [...shape.slice(1), ...own]).map((_, k) => k);
    // the mapped axis stands where the axis was
    return taken.permute([at, ...[...axes, axes.length].filter((k) => k !== at)]);
  }
  const [outer, extent, inner] = aroundAxis(shape, axis);
  const count = sizeOfShape(own);
  const parts = x.contiguous().reshape([size, outer, extent, inner]);
  const along = by.contiguous().reshape([size, 1, count, 1]);
  const whole = axis === undefined ? own : [...shape.slice(0, at), ...own, ...shape.slice(at + 1)];
  return takeAlongAxis(parts, along as never, 2, rest[0] as ShapingOptions).reshape([
    size,
    ...whole,
  ]);
};

const mapTakeAlongAxis: BatchRule<Taken> = (given) => {
  const { args, mapped, size, call } = given;
  const [x, indices, axis = -1, ...rest] = args;
  const shape = exampleShape(x, mapped[0]);
  if (shape.length === 0) return undefined;
  const at = behindMapped('takeAlongAxis', axis, shape);
  const by = besideMapped(indices, mapped[1]);
  return (call as AnyCall)(spreadOver(x, mapped[0], size), by, at, ...rest);
};

const BATCH_RULES: Readonly<Record<Taking, BatchRule>> = {
  take: mapTake,
  takeAlongAxis: mapTakeAlongAxis,
};

const primitive = (what: Taking): Primitive => ({
  name: what,
  call: FUNCTIONS[what],
  derivative: {
    vjp: (g, { args: [x, indices, axis] }) => [
      () => returned(g, indices, { what, shape: x.shape, axis }),
    ],
    jvp: 'linear',
  } satisfies DerivativeRule<Taken>,
  batch: BATCH_RULES[what],
});

const PRIMITIVES = { take: primitive('take'), takeAlongAxis: primitive('takeAlongAxis') } as const;

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** Elements by index along an axis: see {@link take}. */
    take(
      indices: TensorOperand<ClassDType> | HostIndices,
      axis?: number,
      options?: ShapingOptions<NoInfer<D>>,
    ): Pending<Tensor<D>>;
    /** Elements by index, with indices of their own for each place beside an axis: see {@link takeAlongAxis}. */
    takeAlongAxis(
      indices: TensorOperand<ClassDType> | HostIndices,
      axis?: number,
      options?: ShapingOptions<NoInfer<D>>,
    ): Pending<Tensor<D>>;
  }
}

attachMethods({ take, takeAlongAxis });
