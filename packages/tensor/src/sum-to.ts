import {
  emitSum,
  planSum,
  type DType,
  type LaunchableKernel,
  type SumDType,
  type SumPlan,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { attachMethods } from './attach-methods.js';
import { checkDType } from './check-argument.js';
import { checkShape, formatShape, sizeOfShape } from './checked-size.js';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { rowMajorStrides } from './layout.js';
import { MercerError } from './mercer-error.js';
import { CallSteps, pointerAt, type CallView, type KeyedKernel } from './operation/call-steps.js';
import { keyPart, Operation, operationFunction } from './operation/operation.js';
import { coreOf } from './operations.js';
import { pendingCall, type Pending } from './pending.js';
import { readOptions } from './read-options.js';
import { streamFor } from './stream-core.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';
import { assertTensor, isTensor, OUT_OPTION, type OutOption, type Tensor } from './tensor.js';
import { checkOut } from './tensor-checks.js';
import type { AnyCall } from './trace/batching.js';
import { differentiable } from './trace/differentiable.js';
import type { KnownValue } from './trace/primitive.js';

/** Options of {@link sumTo}. */
export interface SumToOptions<D extends SumDType = SumDType> extends OutOption<D>, LoadOptions {
  /** Of the result; default: that of `out`, else x's. */
  readonly dtype?: D | undefined;
}

const SUM_TO_OPTIONS: OptionNames<SumToOptions> = {
  ...OUT_OPTION,
  dtype: true,
  ...LOAD_OPTIONS,
};

type Arguments = readonly [x: Tensor<SumDType>, shape: readonly number[]];

const operation = new Operation<Arguments, SumToOptions>({
  what: 'sumTo',
  options: SUM_TO_OPTIONS,
  freeOptions: OUT_OPTION,
  snapshot: ([x, shape], options) => [[x, isShape(shape) ? [...shape] : shape], options],
  identify: ([x, shape], { out, dtype }) => {
    const part = keyPart(dtype);
    if (!isShape(shape) || part === undefined) return undefined;
    return { key: `${shape.join()} ${part}`, tensors: { inputs: [x], outs: [out] } };
  },
  plan: ([x, shape], { out, dtype: wanted }) => {
    const what = 'sumTo';
    assertTensor(x, `${what}: x`);
    if ((x.dtype as string) !== 'float32' && (x.dtype as string) !== 'float64') {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `sumTo: x is ${x.label}. Sums are taken of float32 and float64; call cast('float32') first.`,
      );
    }
    checkTarget(x, shape);
    if (out !== undefined) assertTensor(out, `${what}: out`);
    const dtype = checkDType(wanted ?? out?.dtype ?? x.dtype, what);
    if (!isSumDType(dtype)) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `sumTo: the result cannot be ${String(dtype)}. Sums are float32 or float64; cast the result.`,
      );
    }
    const { device } = x;
    if (out !== undefined) checkOut(out, { shape, dtype, device }, [x], what);
    const tensors = { inputs: [x], outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.rowMajorResult({ shape: [...shape], dtype });
    if (x.size === sizeOfShape(shape)) {
      const { shape: whole } = x;
      steps.copy(steps.input(0), { ...to, shape: whole, strides: rowMajorStrides(whole) });
    } else addSumTo(steps, x.isContiguous ? steps.input(0) : steps.rowMajorCopy(0), shape, to);
    return { tensors, steps };
  },
});

/** How {@link sumTo} is called. */
export interface SumTo {
  <D extends SumDType, R extends SumDType = D>(
    x: Tensor<D>,
    shape: readonly number[],
    options?: SumToOptions<R>,
  ): Pending<Tensor<R>>;
  /** Compiles for tensors like x and gives a synchronous function, for all sizes with the same kernels; each call names its own out and stream. */
  readonly prepare: <D extends SumDType, R extends SumDType = D>(
    x: Tensor<D>,
    shape: readonly number[],
    options?: SumToOptions<R>,
  ) => Promise<(x: Tensor<D>, shape: readonly number[], options?: OutOption<R>) => Tensor<R>>;
}

const summed: SumTo = operationFunction(operation, 2);

/**
 * The sum over the axes that `shape`, aligned at the last axis, lacks or has with extent 1: what the gradient of a
 * broadcast is. Added in double precision in an order that depends on the sizes alone, and rounded once. An axis without
 * elements gives 0.
 *
 * ```ts
 * import { sumTo, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2, 3], [4, 5, 6]], { device: 'cpu' });
 * console.log(await sumTo(x, [3]).toNested()); // [ 5, 7, 9 ]
 * console.log(await x.sumTo([2, 1]).toNested()); // [ [ 6 ], [ 15 ] ]
 * ```
 *
 * @param x float32 or float64, any strides; one that is not row-major is copied first
 * @returns a row-major tensor, `out`, or another handle for x's elements where no axis is summed, the dtype stays and there is no `out`
 * @throws MercerError SHAPE_MISMATCH where `shape` does not broadcast to x's shape, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP,
 *   INVALID_ARGUMENT, DISPOSED
 */
export const sumTo: SumTo = differentiable<
  SumTo,
  readonly [x: KnownValue, shape: readonly number[]]
>(
  'sumTo',
  Object.assign(
    <D extends SumDType, R extends SumDType = D>(
      x: Tensor<D>,
      shape: readonly number[],
      options?: SumToOptions<R>,
    ): Pending<Tensor<R>> => {
      return pendingCall(async () => {
        if (!isTensor(x) || !isShape(shape) || x.size !== sizeOfShape(shape)) {
          return summed(x, shape, options);
        }
        const { out, dtype, stream, signal } = readOptions('sumTo', options, SUM_TO_OPTIONS);
        if (out !== undefined || (dtype ?? x.dtype) !== x.dtype || !isSumDType(x.dtype)) {
          return summed(x, shape, options);
        }
        signal?.throwIfAborted();
        assertTensor(x, 'sumTo: x');
        streamFor(x.device, stream, 'sumTo');
        return x.reshape(checkTarget(x, shape)) as Tensor as Tensor<R>;
      });
    },
    { prepare: summed.prepare },
  ),
  {
    vjp: (g, { args: [x] }) => [() => g.broadcastTo(x.shape)],
    jvp: 'linear',
  },
  ({ args: [x, shape, ...rest], size, call }) => {
    const lead = x.shape.length - 1 - shape.length;
    if (!isShape(shape) || lead < 0) return undefined;
    const whole = [size, ...new Array<number>(lead).fill(1), ...shape];
    return (call as AnyCall)(x, whole, ...rest).reshape([size, ...shape]);
  },
  'one call',
);

const isShape = (shape: unknown): shape is readonly number[] =>
  Array.isArray(shape) &&
  Array.from<unknown>(shape).every((extent) => Number.isSafeInteger(extent) && Number(extent) >= 0);

const isSumDType = (dtype: DType): dtype is SumDType => dtype === 'float32' || dtype === 'float64';

declare module './tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** The sum over axes: see {@link sumTo}. */
    sumTo<R extends SumDType = D & SumDType>(
      shape: readonly number[],
      options?: SumToOptions<R>,
    ): Pending<Tensor<R>>;
  }
}

attachMethods({ sumTo });

/** Adds to a call the sum of a row-major view over the axes that `shape` lacks or has with extent 1, to a row-major view of that shape. */
export function addSumTo(
  steps: CallSteps,
  from: CallView,
  shape: readonly number[],
  to: CallView,
): void {
  const groups = axisGroups(from.shape, shape);
  // A sum of one term where no axis is summed, so that prepared calls of any extents have the same kernels.
  if (!groups.some(({ summed }) => summed)) groups.push({ summed: true, extent: 1 });
  sumGroups(steps, from, groups, to);
}

/** One launch for each run of summed axes, the last run first; partial sums stay in float64. */
function sumGroups(
  steps: CallSteps,
  x: CallView,
  groups: readonly AxisGroup[],
  result: CallView,
): void {
  const last = groups.findLastIndex(({ summed }) => summed);
  const kept = groups.filter((_, i) => i !== last);
  const isLast = !kept.some(({ summed }) => summed);
  const outer = sizeOfShape(groups.slice(0, last).map(({ extent }) => extent));
  const inner = sizeOfShape(groups.slice(last + 1).map(({ extent }) => extent));
  const count = groups[last]?.extent ?? 1;
  const to = isLast ? result : steps.scratchMemory({ shape: [outer, inner], dtype: 'float64' });
  const plan = planSum({
    from: x.dtype as SumDType,
    to: to.dtype as SumDType,
    outputs: outer * inner,
    count,
  });
  const strides = { strideOuter: count * inner, strideCount: inner, strideInner: 1 };
  const { kind } = steps.device;
  const { key, kernel } = kernelFor(plan, kind);
  const step = {
    values: outer * count * inner,
    pointers: { src: pointerAt(x), dst: pointerAt(to) },
    scalars: { outer, count, inner, ...strides },
  };
  // Of a prepared call the next may have other sizes.
  const mode = plan.mode === 'each' ? 'block' : 'each';
  steps.addKernel(key, kernel, step, () => [kernelFor({ ...plan, mode }, kind)]);
  if (!isLast) sumGroups(steps, to, kept, result);
}

const kernels = new RecentMap<string, LaunchableKernel>(() => REMEMBERED_KERNELS);

function kernelFor({ family, from, to, mode }: SumPlan, dialect: 'cpu' | 'cuda'): KeyedKernel {
  const key = `sum ${dialect} ${from} ${to} ${mode}`;
  let kernel = kernels.get(key);
  if (kernel === undefined) {
    kernel = emitSum({ family, from, to, mode }, dialect);
    kernels.set(key, kernel);
  }
  return { key, kernel };
}

/** A run of axes that are all summed or all kept. */
interface AxisGroup {
  readonly summed: boolean;
  readonly extent: number;
}

/** The axes of a shape, neighbours of one kind taken together; axes of extent 1 left out. */
function axisGroups(shape: readonly number[], target: readonly number[]): AxisGroup[] {
  const lead = shape.length - target.length;
  const groups: AxisGroup[] = [];
  for (const [axis, extent] of shape.entries()) {
    if (extent === 1) continue;
    const summed = axis < lead || target[axis - lead] === 1;
    const previous = groups.at(-1);
    if (previous?.summed === summed) {
      groups[groups.length - 1] = { summed, extent: previous.extent * extent };
    } else {
      groups.push({ summed, extent });
    }
  }
  return groups;
}

function checkTarget(x: Tensor, shape: readonly number[]): readonly number[] {
  checkShape(shape, 'sumTo');
  const lead = x.rank - shape.length;
  if (lead >= 0 && shape.every((extent, i) => extent === 1 || extent === x.shape[i + lead])) {
    return shape;
  }
  throw new MercerError(
    'SHAPE_MISMATCH',
    `sumTo: ${formatShape(shape)} does not broadcast to the shape of ${x.label}. Aligned at the last axis, every extent must be 1 or the tensor's.`,
  );
}
