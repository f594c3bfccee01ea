import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { checkAxis } from '../arithmetic/axes.js';
import { commonDType } from '../arithmetic/dtype-rules.js';
import type { CommonDType, TensorOperand } from '../arithmetic/result-types.js';
import { formatShape } from '../checked-size.js';
import { MercerError } from '../mercer-error.js';
import { CallSteps, type CallView } from '../operation/call-steps.js';
import { only, Operation, prepareOne, type CallPlan } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { assertTensor, OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import { exampleShape, spreadOver, type AnyCall } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import {
  zerosLike,
  type BatchRule,
  type DerivativeRule,
  type KnownValue,
  type Primitive,
  type Tangents,
  type Value,
} from '../trace/primitive.js';
import { checkOut, commonDevice } from '../tensor-checks.js';
import { SHAPING_OPTIONS, type ShapingOptions } from './shaping-options.js';

/** The dtype of tensors that are joined: their own where they have one, else the one in which arithmetic would meet. */
export type JoinedDType<D extends DType> = {
  readonly [A in D]: [D] extends [A] ? A : A | CommonDType<A, D>;
}[D];

type Join = readonly [what: 'concat' | 'stack', axis: number, ...tensors: readonly Tensor[]];

const operation = new Operation<Join, ShapingOptions>({
  what: ([what]) => what,
  options: SHAPING_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([what, axis, ...inputs], { out }) =>
    Number.isInteger(axis) && inputs.length > 0
      ? { key: `${what} ${axis}`, tensors: { inputs, outs: [out] } }
      : undefined,
  plan: ([what, axis, ...inputs], { out }): CallPlan => {
    for (const [at, one] of inputs.entries()) assertTensor(one, `${what}: tensor ${at}`);
    const device = coreOf(commonDevice(inputs, what));
    const { shape, parts } = (what === 'concat' ? concatenated : stacked)(inputs, axis);
    const [first] = inputs;
    const isOne = inputs.every(({ dtype }) => dtype === first?.dtype);
    const dtypes = inputs.map((one) => one.dtype);
    const dtype = isOne && first !== undefined ? first.dtype : commonDType(dtypes);
    if (out !== undefined) checkOut(out, { shape, dtype, device }, inputs, what);
    const tensors = { inputs, outs: [out] };
    const steps = new CallSteps(device, tensors);
    const to = steps.result({ shape, dtype });
    for (const [place, part] of parts(to).entries()) steps.copy(steps.input(place), part);
    return { tensors, steps };
  },
});

/** The shape of the result, and where each tensor goes in it. */
interface Joined {
  readonly shape: readonly number[];
  readonly parts: (to: CallView) => readonly CallView[];
}

function concatenated(tensors: readonly Tensor[], axis: number): Joined {
  const [first] = tensors as readonly [Tensor];
  if (first.rank === 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `concat: ${first.label} has no axis to join along. Use stack([...]) for tensors of rank 0.`,
    );
  }
  const at = checkAxis('concat', axis, first.rank, `shape ${formatShape(first.shape)}`);
  for (const one of tensors) {
    const fits =
      one.rank === first.rank &&
      one.shape.every((extent, k) => k === at || extent === first.shape[k]);
    if (fits) continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `concat: ${first.label} and ${one.label} differ beside axis ${at}. All extents but that of the axis must be equal; broadcastTo() or reshape() one of them.`,
    );
  }
  const extents = tensors.map(({ shape }) => shape[at] ?? 0);
  const extent = extents.reduce((a, b) => a + b, 0);
  return {
    shape: first.shape.with(at, extent),
    parts: (to) => {
      const stride = to.strides[at] ?? 0;
      let { offset } = to;
      return extents.map((own) => {
        const part = { ...to, shape: to.shape.with(at, own), offset };
        offset += own * stride;
        return part;
      });
    },
  };
}

function stacked(tensors: readonly Tensor[], axis: number): Joined {
  const [first] = tensors as readonly [Tensor];
  const { rank, shape } = first;
  const of = `a stack of shape ${formatShape(shape)}, which has one axis more`;
  const at = checkAxis('stack', axis, rank + 1, of);
  for (const one of tensors) {
    if (one.rank === rank && one.shape.every((extent, k) => extent === shape[k])) continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `stack: ${first.label} and ${one.label} differ in shape. Stack tensors of one shape, or concat() along an axis that they have.`,
    );
  }
  return {
    shape: shape.toSpliced(at, 0, tensors.length),
    parts: (to) =>
      tensors.map((_, k) => ({
        ...to,
        shape,
        strides: to.strides.toSpliced(at, 1),
        offset: to.offset + k * (to.strides[at] ?? 0),
      })),
  };
}

/** @throws MercerError INVALID_ARGUMENT */
function checkTensors(what: Join[0], tensors: unknown): readonly unknown[] {
  if (!Array.isArray(tensors)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the tensors are ${describeValue(tensors)}. Pass an array of them, as ${what}([a, b]).`,
    );
  }
  if (tensors.length > 0) return tensors;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the array of tensors is empty. Pass at least one.`,
  );
}

/** How {@link concat} and {@link stack} are called. */
export interface JoinCall {
  <D extends DType>(
    tensors: readonly TensorOperand<D>[],
    axis?: number,
    options?: ShapingOptions<NoInfer<JoinedDType<D>>>,
  ): Pending<Tensor<JoinedDType<D>>>;
  /** Compiles for tensors like these, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    tensors: readonly Tensor<D>[],
    axis?: number,
    options?: ShapingOptions<NoInfer<JoinedDType<D>>>,
  ) => Promise<
    (tensors: readonly Tensor<D>[], options?: OutOption<JoinedDType<D>>) => Tensor<JoinedDType<D>>
  >;
}

function joinCall(what: Join[0], primitive: () => Primitive): JoinCall {
  const run = (tensors: unknown, axis = 0, options?: ShapingOptions): Pending<Tensor<never>> => {
    const call = async (): Promise<Tensor> => {
      if (Array.isArray(tensors)) heard(tensors);
      const given = readOptions(what, options, SHAPING_OPTIONS);
      return whenArrived([...checkTensors(what, tensors), given], async (all) =>
        only(await operation.call([what, axis, ...(all.slice(0, -1) as Tensor[])], given)),
      );
    };
    const parts: readonly unknown[] = Array.isArray(tensors) ? tensors : [];
    const result =
      recorded(primitive(), [tensors, axis, options]) ?? pendingAfter([...parts], call());
    return result as Pending<Tensor<never>>;
  };
  const args = (tensors: unknown, axis: number): Join => [
    what,
    axis,
    ...(checkTensors(what, tensors) as readonly Tensor[]),
  ];
  const prepare = async (examples: unknown, axis = 0, options?: ShapingOptions) => {
    const prepared = await prepareOne(operation, args(examples, axis), options);
    return (tensors: unknown, free?: object) =>
      prepared(args(tensors, axis), free) as Tensor<never>;
  };
  return Object.assign(run, { prepare });
}

/**
 * Tensors one behind the other along an axis that they have: one new tensor, and one copy of each part into it.
 *
 * Tensors of one dtype keep it. Others meet where arithmetic on them would: float64 where one is; else float32 where one is a float, 16
 * bits included; else the largest of bool, uint8, int32 and int64.
 *
 * ```ts
 * import { concat, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const a = await tensor([[1, 2]], where);
 * const b = await tensor([[3, 4], [5, 6]], where);
 * console.log(await concat([a, b]).toNested()); // [ [ 1, 2 ], [ 3, 4 ], [ 5, 6 ] ]
 *
 * const behind = await concat.prepare([a, b]);
 * console.log(await behind([b, a]).toNested()); // [ [ 3, 4 ], [ 5, 6 ], [ 1, 2 ] ]
 * ```
 *
 * @param tensors of one rank, 1 or more, any strides, equal in all extents but the axis's; pending ones are waited for
 * @param axis counted from the end where it is negative
 * @returns row-major, or `out`
 * @throws MercerError SHAPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED; with `out` also DTYPE_MISMATCH, OVERLAP
 */
export const concat: JoinCall = joinCall('concat', () => concatenation);

/**
 * Tensors of one shape along a new axis: dtypes and copies as in {@link concat}.
 *
 * ```ts
 * import { stack, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const a = await tensor([1, 2], where);
 * const b = await tensor([3, 4], where);
 * console.log(await stack([a, b]).toNested()); // [ [ 1, 2 ], [ 3, 4 ] ]
 * console.log(await stack([a, b], -1).toNested()); // [ [ 1, 3 ], [ 2, 4 ] ]
 *
 * const columns = await stack.prepare([a, b], -1);
 * console.log(await columns([b, a]).toNested()); // [ [ 3, 1 ], [ 4, 2 ] ]
 * ```
 *
 * @param tensors of one shape, any rank and strides; pending ones are waited for
 * @param axis where the new axis is in the result, counted from its end where it is negative
 * @returns row-major, or `out`
 * @throws MercerError SHAPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED; with `out` also DTYPE_MISMATCH, OVERLAP
 */
export const stack: JoinCall = joinCall('stack', () => stacking);

type JoinArgs = readonly [tensors: readonly KnownValue[], axis?: number];

/** A tangent for each tensor: zeros for those that have none. */
const tangentsOf = (tangents: Tangents, tensors: readonly KnownValue[]): readonly Value[] =>
  tensors.map((one, at) => (tangents[0] as readonly (Value | undefined)[])[at] ?? zerosLike(one));

/** @param added axes that the result has more than the tensors */
const mapJoin =
  (what: string, added: number): BatchRule<JoinArgs> =>
  ({ args: [tensors, axis = 0, ...rest], mapped: [mapped], size, call }) => {
    const are = mapped as readonly unknown[];
    const shapes = tensors.map((one, at) => exampleShape(one, are[at]));
    const [shape = []] = shapes;
    const at = checkAxis(what, axis, shape.length + added, `shape ${formatShape(shape)}`);
    const all = tensors.map((one, k) => spreadOver(one, are[k], size));
    return (call as AnyCall)(all, at + 1, ...rest);
  };

const concatenation: Primitive = {
  name: 'concat',
  call: concat,
  derivative: {
    vjp: (g, { args: [tensors, axis = 0] }) => {
      const at = axis < 0 ? axis + (tensors[0]?.shape.length ?? 0) : axis;
      let start = 0;
      const parts = tensors.map(({ shape }) => {
        const range = [start, (start += shape[at] ?? 0)] as const;
        return () => g.slice(...new Array<null>(at).fill(null), range);
      });
      return [parts];
    },
    jvp: (tangents, { args: [tensors, axis] }) =>
      concat(tangentsOf(tangents, tensors) as readonly Tensor[], axis),
  } satisfies DerivativeRule<JoinArgs>,
  batch: mapJoin('concat', 0),
};

const stacking: Primitive = {
  name: 'stack',
  call: stack,
  derivative: {
    vjp: (g, { args: [tensors, axis = 0] }) => {
      const at = axis < 0 ? axis + (tensors[0]?.shape.length ?? 0) + 1 : axis;
      return [tensors.map((_, k) => () => g.slice(...new Array<null>(at).fill(null), k))];
    },
    jvp: (tangents, { args: [tensors, axis] }) =>
      stack(tangentsOf(tangents, tensors) as readonly Tensor[], axis),
  } satisfies DerivativeRule<JoinArgs>,
  batch: mapJoin('stack', 1),
};
