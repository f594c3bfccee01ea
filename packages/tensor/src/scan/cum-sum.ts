import { add, variable } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { checkAxis } from '../arithmetic/axes.js';
import { isInteger } from '../arithmetic/dtype-rules.js';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand, TotalDType } from '../arithmetic/result-types.js';
import { formatShape } from '../checked-size.js';
import { patternOf } from '../elementwise.js';
import { MercerError } from '../mercer-error.js';
import { addFormula } from '../map-kernel.js';
import { CallSteps, type CallView } from '../operation/call-steps.js';
import { only, Operation, prepareOne } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { heard, pendingAfter, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import {
  SHAPING_OPTIONS,
  type PreparedShaping,
  type ShapingOptions,
} from '../shaping/shaping-options.js';
import { assertTensor, OUT_OPTION, type Tensor } from '../tensor.js';
import { checkOut } from '../tensor-checks.js';
import { alongAxis } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import type { DerivativeRule, KnownValue, Primitive } from '../trace/primitive.js';
import { addRowSums } from '../sorting/along-rows.js';
import { lastAxis } from '../sorting/last-axis.js';

const operation = new Operation<readonly [x: Tensor, axis: number], ShapingOptions>({
  what: 'cumSum',
  options: SHAPING_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([x, axis], { out }) =>
    typeof axis === 'number'
      ? { key: String(axis), tensors: { inputs: [x], outs: [out] } }
      : undefined,
  plan: ([x, axis], { out }) => {
    const what = 'cumSum';
    assertTensor(x, `${what}: x`);
    const { shape, device } = x;
    if (shape.length === 0) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${what}: x has no axis to sum along. Call reshape([1]) first.`,
      );
    }
    const at = checkAxis(what, axis, shape.length, `shape ${formatShape(shape)}`);
    const dtype = totalDType(x.dtype);
    if (out !== undefined) checkOut(out, { shape, dtype, device }, [x], what);
    const tensors = { inputs: [x], outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.result({ shape, dtype });
    if (x.size > 0) {
      const add = device.kind === 'cpu' ? addRowSums : addSums;
      add(steps, lastAxis(steps.input(0), at), lastAxis(to, at));
    }
    return { tensors, steps };
  },
});

/** As sums over axes have it: whole numbers give int64, floats of 16 bits float32. */
function totalDType(dtype: DType): DType {
  if (isInteger(dtype)) return 'int64';
  return dtype === 'float64' ? dtype : 'float32';
}

const sum = add(variable('own'), variable('before'));

/**
 * Adds to a call the sums of the elements up to each along the last axis, in float64: each step adds to every element the one that lies twice
 * as far before it as in the step before (Hillis and Steele, "Data parallel algorithms", CACM 29, 1986). What lies before the first is -0.
 */
function addSums(steps: CallSteps, from: CallView, to: CallView): void {
  const outer = to.shape.slice(0, -1);
  const n = to.shape.at(-1) ?? 0;
  if (n === 1) {
    steps.copy(from, to);
    return;
  }
  const furthest = 2 ** (Math.ceil(Math.log2(n)) - 1);
  const memory = { shape: [...outer, furthest + n], dtype: 'float64' } as const;
  const terms = (view: CallView, before = 0): CallView => ({
    ...view,
    shape: to.shape,
    offset: furthest - before,
  });
  let now = zerosBefore(steps, steps.scratchMemory(memory), furthest);
  steps.copy(from, terms(now));
  let next = zerosBefore(steps, steps.scratchMemory(memory), furthest);
  for (let before = 1; before <= furthest; before *= 2) {
    const target = before === furthest ? to : terms(next);
    const inputs = { own: terms(now), before: terms(now, before) };
    addFormula(steps, sum, { inputs, to: target });
    [now, next] = [next, now];
  }
}

/** -0, which changes no number that it is added to. */
const NOTHING = patternOf(-0, 'float64', 'the sum of nothing');

function zerosBefore(steps: CallSteps, view: CallView, count: number): CallView {
  steps.fill({ ...view, shape: view.shape.with(-1, count) }, NOTHING);
  return view;
}

/** How {@link cumSum} is called. */
export interface CumSum {
  <D extends DType>(
    x: TensorOperand<D>,
    axis?: number,
    options?: ShapingOptions<NoInfer<TotalDType<D>>>,
  ): Pending<Tensor<TotalDType<D>>>;
  /** Compiles for tensors like x, and gives a synchronous function of tensors for which the same kernels are launched. */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    axis?: number,
    options?: ShapingOptions<NoInfer<TotalDType<D>>>,
  ) => Promise<PreparedShaping<D, TotalDType<D>>>;
}

/**
 * The sums of the elements up to each along an axis, as numpy's cumsum: added in float64 and rounded once; whole numbers give int64, exact
 * on a CPU, and on a GPU up to 2^53. There it takes log2(n) kernels for n elements along the axis, and 32 bytes of scratch memory for each
 * element at most.
 *
 * ```ts
 * import { cumSum, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2, 3], [4, 5, 6]], { device: 'cpu' });
 * console.log(await cumSum(x).toNested()); // [ [ 1, 3, 6 ], [ 4, 9, 15 ] ]
 * console.log(await x.cumSum(0).toNested()); // [ [ 1, 2, 3 ], [ 5, 7, 9 ] ]
 *
 * const sums = await cumSum.prepare(x, 0);
 * console.log(await sums(x).toNested()); // [ [ 1, 2, 3 ], [ 5, 7, 9 ] ]
 * ```
 *
 * @param x any dtype and strides, rank 1 or more
 * @param axis counted from the end where it is negative; default: the last
 * @returns of x's shape: int64 of whole numbers, float32 of floats of 16 bits, else x's dtype; row-major, or `out`
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED; with `out` also DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP
 */
export const cumSum: CumSum = Object.assign(
  (x: unknown, axis = -1, options?: ShapingOptions): Pending<Tensor<never>> => {
    const call = async (): Promise<Tensor> => {
      heard([x]);
      const given = readOptions('cumSum', options, SHAPING_OPTIONS);
      return whenArrived([x, given], async ([one]) =>
        only(await operation.call([one as Tensor, axis], given)),
      );
    };
    return (recorded(summing, [x, axis, options]) ?? pendingAfter([x], call())) as Pending<
      Tensor<never>
    >;
  },
  {
    prepare: async (example: Tensor, axis = -1, options?: ShapingOptions) => {
      const run = await prepareOne(operation, [example, axis], options);
      return (x: Tensor, free?: object) => run([x, axis], free) as Tensor<never>;
    },
  },
);

const summing: Primitive = {
  name: 'cumSum',
  call: cumSum,
  derivative: {
    vjp: (g, { args: [, axis = -1] }) => [() => cumSum(g.flip(axis), axis).flip(axis)],
    jvp: 'linear',
  } satisfies DerivativeRule<readonly [x: KnownValue, axis?: number]>,
  batch: alongAxis('cumSum', -1),
};

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The sums of the elements up to each along an axis: see {@link cumSum}. */
    cumSum(
      axis?: number,
      options?: ShapingOptions<NoInfer<TotalDType<D>>>,
    ): Pending<Tensor<TotalDType<D>>>;
  }
}

attachMethods({ cumSum });
