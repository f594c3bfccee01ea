import { MAX_COPY_RANK, type DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { checkShape } from '../checked-size.js';
import { MercerError } from '../mercer-error.js';
import { CallSteps, type CallView } from '../operation/call-steps.js';
import { only, Operation, prepareOne } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { assertTensor, OUT_OPTION, type Tensor } from '../tensor.js';
import { checkOut } from '../tensor-checks.js';
import { aligned, type AnyCall } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import type { BatchRule, DerivativeRule, KnownValue, Primitive } from '../trace/primitive.js';
import { SHAPING_OPTIONS, type PreparedShaping, type ShapingOptions } from './shaping-options.js';

const operation = new Operation<
  readonly [x: Tensor, repetitions: readonly number[]],
  ShapingOptions
>({
  what: 'tile',
  options: SHAPING_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([x, repetitions], { out }) => ({
    key: repetitions.join(),
    tensors: { inputs: [x], outs: [out] },
  }),
  plan: ([x, repetitions], { out }) => {
    assertTensor(x, 'tile: x');
    const { dtype, device } = x;
    const rank = Math.max(x.rank, repetitions.length);
    const lead = rank - x.rank;
    const times = [...new Array<number>(rank - repetitions.length).fill(1), ...repetitions];
    const extents = [...new Array<number>(lead).fill(1), ...x.shape];
    const shape = checkShape(
      extents.map((extent, axis) => extent * (times[axis] ?? 1)),
      'tile',
    );
    if (out !== undefined) checkOut(out, { shape, dtype, device }, [x], 'tile');
    const tensors = { inputs: [x], outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const from = steps.input(0);
    const to = steps.result({ shape, dtype });
    const axes = extents.flatMap((extent, axis): Axis[] => {
      const source = axis < lead ? 0 : (from.strides[axis - lead] ?? 0);
      const target = to.strides[axis] ?? 0;
      return [
        { extent: times[axis] ?? 1, source: 0, target: extent * target },
        { extent, source, target },
      ];
    });
    copyAxes(
      steps,
      from,
      to,
      axes.filter(({ extent }) => extent !== 1),
    );
    return { tensors, steps };
  },
});

/** An axis of a copy: its extent, and its strides on both sides. */
interface Axis {
  readonly extent: number;
  readonly source: number;
  readonly target: number;
}

/** One copy, or where it has more axes than a copy can have, one for each repetition along the axis that has the fewest. */
function copyAxes(steps: CallSteps, from: CallView, to: CallView, axes: readonly Axis[]): void {
  const repeated = axes.filter(({ source }) => source === 0);
  if (axes.length <= MAX_COPY_RANK || repeated.length === 0) {
    const shape = axes.map(({ extent }) => extent);
    steps.copy(
      { ...from, shape, strides: axes.map(({ source }) => source) },
      { ...to, shape, strides: axes.map(({ target }) => target) },
    );
    return;
  }
  const fewest = repeated.reduce((a, b) => (b.extent < a.extent ? b : a));
  const others = axes.filter((axis) => axis !== fewest);
  for (let k = 0; k < fewest.extent; k++) {
    copyAxes(steps, from, { ...to, offset: to.offset + k * fewest.target }, others);
  }
}

/** As many repetitions for each of the last axes; one number is for the last axis. @throws MercerError INVALID_ARGUMENT */
function checkRepetitions(repetitions: unknown): readonly number[] {
  const given: unknown = typeof repetitions === 'number' ? [repetitions] : repetitions;
  if (Array.isArray(given)) {
    const counts: readonly unknown[] = given;
    return counts.map((one) => {
      if (typeof one === 'number' && Number.isSafeInteger(one) && one >= 0) return one;
      throw new MercerError(
        'INVALID_ARGUMENT',
        `tile: ${describeValue(one)} repetitions. Pass counts of 0 or more, one for each of the last axes.`,
      );
    });
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `tile: the repetitions are ${describeValue(given)}. Pass a count for the last axis, or an array of counts.`,
  );
}

/** How {@link tile} is called. */
export interface Tile {
  <D extends DType>(
    x: TensorOperand<D>,
    repetitions: number | readonly number[],
    options?: ShapingOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /** Compiles for tensors like x, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    repetitions: number | readonly number[],
    options?: ShapingOptions<NoInfer<D>>,
  ) => Promise<PreparedShaping<D>>;
}

/**
 * A tensor repeated along its axes, as numpy's tile: `repetitions` are counts for the last axes, or one for the last. Where there are
 * more counts than axes, the tensor has leading axes of extent 1. One strided copy.
 *
 * ```ts
 * import { tensor, tile } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2]], { device: 'cpu' });
 * console.log(await tile(x, [2, 2]).toNested()); // [ [ 1, 2, 1, 2 ], [ 1, 2, 1, 2 ] ]
 *
 * const twice = await tile.prepare(x, 2);
 * console.log(await twice(x).toNested()); // [ [ 1, 2, 1, 2 ] ]
 * ```
 *
 * @param x any dtype, rank and strides
 * @returns of x's dtype, each extent multiplied by its count; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, DISPOSED; with `out` also SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export const tile: Tile = Object.assign(
  (x: unknown, repetitions: unknown, options?: ShapingOptions): Pending<Tensor<never>> => {
    const call = async (): Promise<Tensor> => {
      heard([x]);
      const given = readOptions('tile', options, SHAPING_OPTIONS);
      const counts = checkRepetitions(repetitions);
      return whenArrived([x, given], async ([one]) =>
        only(await operation.call([one as Tensor, counts], given)),
      );
    };
    const result = recorded(tiling, [x, repetitions, options]) ?? pendingAfter([x], call());
    return result as Pending<Tensor<never>>;
  },
  {
    prepare: async (example: Tensor, repetitions: unknown, options?: ShapingOptions) => {
      const counts = checkRepetitions(repetitions);
      const run = await prepareOne(operation, [example, counts], options);
      return (x: Tensor, free?: object) => run([x, counts], free) as Tensor<never>;
    },
  },
);

const tiling: Primitive = {
  name: 'tile',
  call: tile,
  derivative: {
    vjp: (g, { args: [x, repetitions], result }) => [
      () => {
        const lead = result.shape.length - x.shape.length;
        const extents = [...new Array<number>(lead).fill(1), ...x.shape];
        const counts = checkRepetitions(repetitions);
        const first = result.shape.length - counts.length;
        const parts = extents.flatMap((extent, axis) => [counts[axis - first] ?? 1, extent]);
        const repeated = extents.map((_, axis) => 2 * axis);
        return g.contiguous().reshape(parts).sum(repeated).reshape(x.shape);
      },
    ],
    jvp: 'linear',
  } satisfies DerivativeRule<readonly [x: KnownValue, repetitions: number | readonly number[]]>,
  batch: (({ args: [x, repetitions, ...rest], call }) => {
    const counts = checkRepetitions(repetitions);
    const rank = Math.max(counts.length, x.shape.length - 1);
    const ones = new Array<number>(rank - counts.length).fill(1);
    return (call as AnyCall)(aligned(x, true, rank), [1, ...ones, ...counts], ...rest);
  }) satisfies BatchRule<readonly [x: KnownValue, repetitions: number | readonly number[]]>,
};

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** Repeated along its axes: see {@link tile}. */
    tile(
      repetitions: number | readonly number[],
      options?: ShapingOptions<NoInfer<D>>,
    ): Pending<Tensor<D>>;
  }
}

attachMethods({ tile });
