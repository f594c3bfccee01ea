import {
  cpuReduceKernel,
  emitReduce,
  isSpread,
  planReduce,
  reducedDType,
  type BasicReduceKind,
  type CudaLimits,
  type DType,
  type PairwiseDType,
  type ReduceKind,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { sizeOfShape } from '../checked-size.js';
import { LOAD_OPTIONS, type Device, type LoadOptions } from '../device.js';
import { rowMajorStrides } from '../layout.js';
import { addMap, numbersFor } from '../map-kernel.js';
import { CallSteps, pointerAt, type CallView } from '../operation/call-steps.js';
import { only, Operation, type CallPlan } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import { checkOut } from '../tensor-checks.js';
import { broadcastLayout } from '../views.js';
import { chainFormula, chainInputs, namedNumbers, type BoundChain } from './chain-text.js';

/** A reduction of what a chain gives. */
export interface Reduction {
  /** For messages. */
  readonly what: string;
  readonly kind: ReduceKind;
  readonly shape: readonly number[];
  /** Counted from 0, in their order. */
  readonly axes: readonly number[];
  readonly outShape: readonly number[];
  readonly dtype: DType;
  readonly computesIn: PairwiseDType;
  readonly device: Device;
  /** What a sum is divided by: about the number of its terms, for a mean. */
  readonly meanOver: number | undefined;
}

interface ReductionOptions extends OutOption, LoadOptions {
  readonly numbers?: readonly number[] | undefined;
}

const REDUCTION_OPTIONS: OptionNames<ReductionOptions> = {
  ...OUT_OPTION,
  ...LOAD_OPTIONS,
  numbers: true,
};

type Arguments = readonly [reduction: Reduction, chain: BoundChain];

const numbersOf = ({ numbers = [] }: ReductionOptions): Readonly<Record<string, number>> =>
  namedNumbers(numbers);

const operation = new Operation<Arguments, ReductionOptions>({
  what: ([reduction]) => reduction.what,
  options: REDUCTION_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([reduction, { text, tensors }], { out }) => {
    const { kind, axes, dtype, computesIn, meanOver, outShape } = reduction;
    return {
      key: `${kind} ${meanOver} ${axes.join()} ${outShape.length} ${dtype} ${computesIn} ${text}`,
      tensors: { inputs: tensors, outs: [out] },
    };
  },
  plan: ([reduction, chain], { out }) => {
    const { outShape, dtype, device } = reduction;
    if (out !== undefined) {
      checkOut(out, { shape: outShape, dtype, device }, chain.tensors, reduction.what);
    }
    const tensors = { inputs: chain.tensors, outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.rowMajorResult({ shape: outShape, dtype });
    if (sizeOfShape(outShape) === 0) return { tensors, steps };
    const { limits } = device;
    return limits.kind === 'cuda'
      ? onGpu(reduction, chain, steps, to, tensors, limits)
      : onCpu(reduction, chain, steps, to, tensors);
  },
});

/** Enqueues a reduction: the tensor itself where that is done at once. @throws MercerError, the compiler's or the loader's error, as it rejects */
export function startReduction(
  reduction: Reduction,
  chain: BoundChain,
  { out, stream, signal, debug }: Omit<ReductionOptions, 'numbers'>,
): Tensor | Promise<Tensor> {
  const options = { out, stream, signal, debug, numbers: chain.numbers };
  const started = operation.start([reduction, chain], options);
  return started instanceof Promise ? started.then(only) : only(started);
}

const pick = (values: readonly number[], axes: readonly number[]): readonly number[] =>
  axes.map((axis) => values[axis] ?? 1);

const keptAxes = ({ shape, axes }: Reduction): readonly number[] =>
  shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));

/** The formula and the reduction are one kernel, with a second one that merges parts. */
function onGpu(
  reduction: Reduction,
  chain: BoundChain,
  steps: CallSteps,
  to: CallView,
  tensors: CallPlan['tensors'],
  limits: CudaLimits,
): CallPlan {
  const { kind, shape, axes, computesIn, meanOver = 1 } = reduction;
  const kept = keptAxes(reduction);
  const expr = chainFormula(chain.root, chain, true);
  const reduced = pick(shape, axes);
  const strides = rowMajorStrides(shape);
  const planned = planReduce(
    {
      kind,
      expr,
      kept: pick(shape, kept),
      reduced,
      inputs: chain.tensors.map((tensor, k) => {
        const { strides } = broadcastLayout(tensor, shape);
        return {
          name: `x${k}`,
          dtype: tensor.dtype,
          keptStrides: pick(strides, kept),
          reducedStrides: pick(strides, axes),
        };
      }),
      out: to.dtype,
      computesIn,
      parameters: namedNumbers(chain.numbers),
      divisor: meanOver,
      spread: isSpread(kind)
        ? { keptStrides: pick(strides, kept), reducedStrides: pick(strides, axes) }
        : undefined,
    },
    limits,
  );
  const { plan, scalars, inputs } = planned;
  const pointers = Object.fromEntries(
    inputs.map((place, k) => [`x${k}`, pointerAt(steps.input(place))]),
  );
  const { expr: _, ...written } = plan;
  steps.addPlan(`reduce ${expr.id} ${JSON.stringify(written)}`, plan, emitReduce, {
    values: sizeOfShape(shape),
    pointers: { ...pointers, out: pointerAt(to) },
    scalars,
  });
  return { tensors, steps, holds: expr, scalars: numbersFor(plan.parameters, numbersOf) };
}

/** @throws TypeError for what a CPU makes of other reductions */
function basicKind({ kind, what }: Reduction): BasicReduceKind {
  if (kind === 'logSumExp' || isSpread(kind)) throw new TypeError(`${what}: it is several kernels`);
  return kind;
}

/** Elements of a part: a thread is woken for no fewer. */
const LEAST_PART = 2 ** 16;

/** The formula is computed into scratch memory, where it is one, and reduced there by a built-in function. */
function onCpu(
  reduction: Reduction,
  chain: BoundChain,
  steps: CallSteps,
  to: CallView,
  tensors: CallPlan['tensors'],
): CallPlan {
  const { shape, axes, computesIn, meanOver = 1 } = reduction;
  const kind = basicKind(reduction);
  const { from, holds, scalars } = terms(reduction, chain, steps);
  const { outer, count, inner, ...strides } = axisOf(shape, axes, from.strides);
  const direct = reducedDType(kind, computesIn);
  const { limits } = steps.device;
  const cores = limits.kind === 'cpu' ? limits.cores : 1;
  const splits = kind === 'sum' || kind === 'prod' || kind === 'min' || kind === 'max';
  const parts =
    splits && outer * inner < cores
      ? Math.max(1, Math.min(cores, Math.floor(count / LEAST_PART)))
      : 1;
  const perPart = Math.ceil(count / parts);
  // what values are written in before they are converted
  const result = to.dtype === direct ? to : steps.scratchMemory({ shape: to.shape, dtype: direct });
  const partial: PairwiseDType = kind === 'sum' || kind === 'prod' ? 'float64' : computesIn;
  const first =
    parts === 1 ? result : steps.scratchMemory({ shape: [outer, parts, inner], dtype: partial });
  const add = (
    source: CallView,
    target: CallView,
    elements: PairwiseDType,
    values: PairwiseDType,
    numbers: Readonly<Record<string, number>>,
  ): void => {
    steps.addKernel(
      `reduce ${kind} ${elements} ${values}`,
      cpuReduceKernel(kind, elements, values),
      {
        values: outer * inner * (numbers['count'] ?? 1),
        pointers: { src: pointerAt(source), dst: pointerAt(target) },
        scalars: { outer, inner, ...numbers },
      },
    );
  };
  add(from, first, computesIn, parts === 1 ? computesIn : partial, {
    count,
    ...strides,
    parts,
    perPart,
    divisor: parts === 1 ? meanOver : 1,
  });
  if (parts > 1) {
    add(first, result, partial, computesIn, {
      count: parts,
      strideOuter: parts * inner,
      strideCount: inner,
      strideInner: 1,
      parts: 1,
      perPart: parts,
      divisor: meanOver,
    });
  }
  if (result !== to) steps.copy(result, to);
  return { tensors, steps, holds, scalars };
}

/** The terms in memory: the tensor itself where its elements can be reduced as they lie. */
function terms(
  { shape, axes, computesIn }: Reduction,
  chain: BoundChain,
  steps: CallSteps,
): { readonly from: CallView } & Pick<CallPlan, 'holds' | 'scalars'> {
  const [only] = chain.tensors;
  const isPlain = chain.text === 'x0' && only?.dtype === computesIn;
  if (isPlain && isAlong(shape, axes, only.strides)) return { from: steps.input(0), ...NOTHING };
  // the axes that go are one run of memory: the last, unless they are neighbours already
  const isRun = axes.every((axis, at) => at === 0 || axis === (axes[at - 1] ?? 0) + 1);
  const order = isRun
    ? shape.map((_, axis) => axis)
    : [...shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis])), ...axes];
  const packed = rowMajorStrides(order.map((axis) => shape[axis] ?? 1));
  const strides = shape.map((_, axis) => packed[order.indexOf(axis)] ?? 1);
  const scratch = steps.scratchMemory({ shape, dtype: computesIn });
  const from: CallView = { ...scratch, strides };
  if (sizeOfShape(shape) === 0) return { from, ...NOTHING };
  const expr = chainFormula(chain.root, chain, true);
  const map = addMap(
    steps,
    {
      results: [{ expr, to: from }],
      shape,
      inputs: chainInputs(chain.tensors, shape),
      parameters: namedNumbers(chain.numbers),
      computesIn,
    },
    numbersOf,
  );
  return { from, ...map };
}

const NOTHING = { holds: undefined, scalars: undefined } as const;

/** Whether one stride leads through the axes before the reduced ones, one through those, and one through those behind. */
function isAlong(
  shape: readonly number[],
  axes: readonly number[],
  strides: readonly number[],
): boolean {
  const [first = 0] = axes;
  const end = first + axes.length;
  const isRun = axes.every((axis, at) => axis === first + at);
  return (
    isRun &&
    [
      [0, first],
      [first, end],
      [end, shape.length],
    ].every(([from = 0, to]) => {
      const run = shape.slice(from, to).flatMap((extent, at) => (extent === 1 ? [] : [from + at]));
      return run.every((axis, at) => {
        const next = run[at + 1];
        return next === undefined || strides[axis] === (strides[next] ?? 0) * (shape[next] ?? 1);
      });
    })
  );
}

interface AxisNumbers {
  readonly outer: number;
  readonly count: number;
  readonly inner: number;
  readonly strideOuter: number;
  readonly strideCount: number;
  readonly strideInner: number;
}

/** Axes as one run of memory between others. */
function axisOf(
  shape: readonly number[],
  axes: readonly number[],
  strides: readonly number[],
): AxisNumbers {
  const isRun = axes.every((axis, at) => at === 0 || axis === (axes[at - 1] ?? 0) + 1);
  const kept = shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));
  const last = axes.at(-1) ?? shape.length;
  // where they are no run, the terms were packed with the reduced axes last
  const before = isRun ? kept.filter((axis) => axis < last) : kept;
  const behind = isRun ? kept.filter((axis) => axis > last) : [];
  const size = (of: readonly number[]): number => sizeOfShape(pick(shape, of));
  const stride = (of: readonly number[]): number => {
    const axis = of.findLast((one) => (shape[one] ?? 1) > 1);
    return axis === undefined ? 1 : (strides[axis] ?? 1);
  };
  return {
    outer: size(before),
    count: size(axes),
    inner: size(behind),
    strideOuter: stride(before),
    strideCount: stride(axes),
    strideInner: stride(behind),
  };
}
