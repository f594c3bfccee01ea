import type { DType, SumDType } from '@mercer/kernels';
import { attachMethods } from '../attach-methods.js';
import { sizeOfShape } from '../checked-size.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import type { ClassDType } from '../creators/one-hot.js';
import { addGatherRows } from '../gather-rows.js';
import { isRowMajor } from '../layout.js';
import { CallSteps } from '../operation/call-steps.js';
import { only, Operation, type CallIdentity } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, pending, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { rowsOf, type RowsView } from '../row-index.js';
import { addScatterAdd } from '../scatter-add.js';
import { SHAPING_OPTIONS, type ShapingOptions } from '../shaping/shaping-options.js';
import { assertTensor, isTensor, OUT_OPTION, type Tensor } from '../tensor.js';
import { checkOut, commonDevice } from '../tensor-checks.js';
import { differentiable } from '../trace/differentiable.js';
import { recorded } from '../trace/dispatch.js';
import type { DerivativeRule, KnownValue, Primitive, Value } from '../trace/primitive.js';
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
);

function call(
  what: Taking,
  x: unknown,
  indices: unknown,
  axis: number | undefined,
  options: ShapingOptions | undefined,
): Pending<Tensor> {
  const work = async (): Promise<Tensor> => {
    heard([x, indices]);
    const given = readOptions(what, options, SHAPING_OPTIONS);
    const read = readIndices(what, indices);
    return whenArrived([x, read, given], async ([one, by]) => {
      assertTensor(one, `${what}: x`);
      const from = { what, shape: one.shape, axis };
      return only(await taking.call([one, by as ReadIndices, from], given));
    });
  };
  return pending(work());
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
 * ```
 *
 * @param x any dtype, rank and strides; where it is not dense it is copied first, but for gaps between rows along axis 0
 * @param indices int64, int32 or uint8 of any shape, or a number or nested arrays of the host; at most 2^31 - 1 are named in all
 * @param axis counted from the end where it is negative; default: of all elements, one behind the other in row-major order
 * @returns x's shape with that of the indices in place of the axis; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; with `out` also SHAPE_MISMATCH, OVERLAP
 */
export function take<D extends DType>(
  x: TensorOperand<D>,
  indices: TensorOperand<ClassDType> | HostIndices,
  axis?: number,
  options?: ShapingOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  return (recorded(PRIMITIVES.take, [x, indices, axis, options]) ??
    call('take', x, indices, axis, options)) as Pending<Tensor<D>>;
}

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
 * ```
 *
 * @param x any dtype and strides, rank 1 or more; where it is not dense it is copied first
 * @param indices int64, int32 or uint8, or nested arrays of the host, of x's rank; beside the axis with x's extents or 1
 * @param axis counted from the end where it is negative; default: the last
 * @returns x's shape with as many elements along the axis as the indices have; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; with `out` also OVERLAP
 */
export function takeAlongAxis<D extends DType>(
  x: TensorOperand<D>,
  indices: TensorOperand<ClassDType> | HostIndices,
  axis = -1,
  options?: ShapingOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  return (recorded(PRIMITIVES.takeAlongAxis, [x, indices, axis, options]) ??
    call('takeAlongAxis', x, indices, axis, options)) as Pending<Tensor<D>>;
}

const FUNCTIONS = { take, takeAlongAxis } as const;

const primitive = (what: Taking): Primitive => ({
  name: what,
  call: FUNCTIONS[what],
  derivative: {
    vjp: (g, { args: [x, indices, axis] }) => [
      () => returned(g, indices, { what, shape: x.shape, axis }),
    ],
    jvp: 'linear',
  } satisfies DerivativeRule<readonly [x: KnownValue, indices: unknown, axis?: number]>,
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

attachMethods({
  take: { gives: 'tensor', takesPending: true, call: take },
  takeAlongAxis: { gives: 'tensor', takesPending: true, call: takeAlongAxis },
});
