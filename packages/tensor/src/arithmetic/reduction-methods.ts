import { MOST_SPREAD, type DType } from '@mercer/kernels';
import { attachMethods } from '../attach-methods.js';
import { atPlace, memoryAmong, placeInOrder, Turn, type OrderedMemory } from '../call-order.js';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError } from '../mercer-error.js';
import {
  arrivedNow,
  failed,
  pendingAfter,
  pendingInPlace,
  pendingThere,
  type Pending,
} from '../pending.js';
import { readOptions } from '../read-options.js';
import { refuseMore } from '../refuse-more.js';
import { isTensor, type Tensor } from '../tensor.js';
import { shifted as shiftedAxes } from '../trace/batching.js';
import { recorded } from '../trace/dispatch.js';
import type { BatchRule, KnownValue, Primitive } from '../trace/primitive.js';
import { checkAxes, type Axes } from './axes.js';
import { ChainResult } from './chain-result.js';
import { isInteger } from './dtype-rules.js';
import { alone, elementwise, presentOperand, type Use } from './elementwise.js';
import type { OperatorName } from './operators.js';
import { REDUCTION_RULES } from './reduction-rules.js';
import {
  reduction,
  REDUCTION_OPTIONS,
  type ReductionName,
  type ReductionOptions,
} from './reductions.js';
import type { FloatingDType, SameDType, TensorOperand, TotalDType } from './result-types.js';

/** Options of a variance. */
export interface VarianceOptions extends ReductionOptions {
  /** What is taken off the number of elements that the squares are divided by: 1 for a sample's variance. Default: 0. */
  readonly correction?: number | undefined;
}

/** Options of a norm. */
export interface NormOptions extends ReductionOptions {
  /** The exponent: 1, 2, Infinity or any other positive number. Default: 2. */
  readonly ord?: number | undefined;
}

/**
 * Reductions over axes. `axes` is one, counted from the end where it is negative, or several, or nothing for all, which gives a tensor of
 * rank 0; with `keepDims` they stay with extent 1. On a GPU the elementwise results that a reduction is taken of are computed in its
 * kernel. The order in which values are added depends on the sizes and the device alone.
 */
export interface ReductionMethods<D extends DType> {
  /** The sum, added in float64 and rounded once; whole numbers give int64. 0 of nothing. */
  sum(axes?: Axes, options?: ReductionOptions): Pending<Tensor<TotalDType<D>>>;
  /** The mean, in floating point. NaN of nothing. */
  mean(axes?: Axes, options?: ReductionOptions): Pending<Tensor<FloatingDType<D>>>;
  /** The product, multiplied in float64 and rounded once; whole numbers give int64. 1 of nothing. */
  prod(axes?: Axes, options?: ReductionOptions): Pending<Tensor<TotalDType<D>>>;
  /** The least; NaN where one is. Infinity of nothing. */
  min(axes?: Axes, options?: ReductionOptions): Pending<Tensor<SameDType<D>>>;
  /** The largest; NaN where one is. -Infinity of nothing. */
  max(axes?: Axes, options?: ReductionOptions): Pending<Tensor<SameDType<D>>>;
  /** Where the least is, counted through the axes in their order: the first of several, or of NaN where one is. -1 of nothing. */
  argMin(axes?: Axes, options?: ReductionOptions): Pending<Tensor<'int32' | 'int64'>>;
  /** Where the largest is; see argMin. */
  argMax(axes?: Axes, options?: ReductionOptions): Pending<Tensor<'int32' | 'int64'>>;
  /** True where one is not 0; NaN is not 0. */
  any(axes?: Axes, options?: ReductionOptions): Pending<Tensor<'bool'>>;
  /** True where none is 0. */
  all(axes?: Axes, options?: ReductionOptions): Pending<Tensor<'bool'>>;
  /** The mean of squared differences from the mean, in two passes; divided by the number of elements less `correction`. */
  var(axes?: Axes, options?: VarianceOptions): Pending<Tensor<FloatingDType<D>>>;
  /** The square root of the variance. */
  std(axes?: Axes, options?: VarianceOptions): Pending<Tensor<FloatingDType<D>>>;
  /** `(sum |x|^ord)^(1/ord)`, computed in float64 and rounded once; the largest magnitude for Infinity. */
  norm(axes?: Axes, options?: NormOptions): Pending<Tensor<FloatingDType<D>>>;
  /** `log sum exp(x)` without overflow: infinite where the largest is, -Infinity of nothing. */
  logSumExp(axes?: Axes, options?: ReductionOptions): Pending<Tensor<FloatingDType<D>>>;
  /** `exp(x) / sum exp(x)` along an axis without overflow. Default: the last. */
  softmax(axis?: Axes): Pending<Tensor<FloatingDType<D>>>;
  /** `x - logSumExp(x)` along an axis. Default: the last. */
  logSoftmax(axis?: Axes): Pending<Tensor<FloatingDType<D>>>;
}

declare module '../tensor-methods.js' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- its members stand in ReductionMethods
  interface TensorMethods<D extends DType> extends ReductionMethods<D> {}
}

type Any = TensorOperand;

const reduces =
  (name: ReductionName) =>
  (x: Any, axes?: Axes, options?: ReductionOptions): Pending<Tensor> =>
    reduction(name, x, axes, options);

const op = (name: OperatorName, ...operands: readonly unknown[]): Any =>
  elementwise(name, operands) as unknown as Any;

/** The last operation, with the options of the call where there are any. */
function last(
  name: OperatorName,
  operands: readonly unknown[],
  { out, stream, debug, signal }: ReductionOptions,
  use?: Use,
): Pending<Tensor> {
  const given = [out, stream, debug, signal].some((one) => one !== undefined);
  const options = given ? { out, stream, debug, signal } : undefined;
  const result = elementwise(name, operands, options, use);
  return result as unknown as Pending<Tensor>;
}

/** Read from no prototype. */
const NO_OPTIONS: ReductionOptions = readOptions('a reduction', undefined, REDUCTION_OPTIONS);

/** Options of the steps before the last, whose results stay with the call. */
const stepOptions = (
  { stream, debug, signal }: ReductionOptions,
  keepDims: boolean | undefined,
): ReductionOptions => ({ keepDims, stream, debug, signal });

/** Yields what lies between the operands and the result, which is disposed behind it, and gives the last step. */
type Steps<T = Pending<Tensor>> = Generator<Any, T, Tensor>;

/** A result of several steps, all at the place of this call: what they read is not written before they have read it. */
function composed(x: unknown, out: unknown, steps: (x: Any) => Steps): Pending<Tensor> {
  const place = placeInOrder();
  const made: Disposable[] = [];
  const all = steps(ownOperand(x, made));
  let isWaiting = false;
  try {
    // all that is launched within the call
    let step = atPlace(place, () => all.next());
    for (;;) {
      const there = arrivedNow([step.value])?.[0] as Tensor | undefined;
      if (there === undefined) break;
      if (step.done === true) return pendingThere(there);
      made.push(there);
      step = atPlace(place, () => all.next(there));
    }
    isWaiting = true;
    const turn = new Turn(memoryBehind(x), memoryBehind(out), place);
    const result = stepByStep(turn, step, all, made);
    return pendingAfter([x], result);
  } catch (error) {
    return pendingInPlace<Tensor>(failed(error));
  } finally {
    if (!isWaiting) for (const one of made) one[Symbol.dispose]();
  }
}

/** An operand for all steps of a call, whose caller may dispose it behind the call. */
function ownOperand(x: unknown, made: Disposable[]): Any {
  const present = presentOperand(x);
  if (!(present instanceof ChainResult) || present.disposed || present.started) return x as Any;
  const own = present.twin();
  made.push(own);
  return own as unknown as Any;
}

/** The steps from one that has to be waited for. */
async function stepByStep(
  turn: Turn,
  first: IteratorResult<Any, Pending<Tensor>>,
  steps: Steps,
  made: Disposable[],
): Promise<Tensor> {
  let step = first;
  try {
    while (step.done !== true) {
      const between = await step.value;
      made.push(between);
      step = turn.run(() => steps.next(between));
    }
    return await step.value;
  } finally {
    turn.end();
    for (const one of made) one[Symbol.dispose]();
  }
}

/** The memory of an operand, where it is known already. */
function memoryBehind(x: unknown): readonly OrderedMemory[] {
  const present = presentOperand(x);
  if (present instanceof ChainResult) return present.chain.reads.map(({ storage }) => storage);
  return memoryAmong([present]);
}

/**
 * Whole numbers are computed with in float64, so that no step saturates or drops digits, and the result is rounded to float32 once; all else as
 * it is.
 */
function inFloatingPoint(
  x: Any,
  options: ReductionOptions,
  compute: (x: Any, options: ReductionOptions) => Pending<Tensor>,
): Pending<Tensor> {
  const present = presentOperand(x) as Tensor | undefined;
  // what is known, as promises have no dtype
  if (present !== undefined && !isInteger(present.dtype)) return compute(present, options);
  const { out, stream, signal, keepDims } = options;
  return composed(x, out, function* () {
    const one = present ?? (yield x.view());
    if (!isInteger(one.dtype)) return compute(one, options);
    const wide: Any = one.cast('float64', { stream, signal });
    // Once it is there, what is computed of it holds it no longer than until it is read.
    const terms = yield wide;
    const result = yield compute(terms, stepOptions(options, keepDims));
    return result.cast('float32', { out: out as Tensor<'float32'> | undefined, stream, signal });
  });
}

/** The axes of a call, which its steps read one after the other: those that the caller's array has now. */
const kept = (axes: Axes | undefined): Axes | undefined =>
  Array.isArray(axes) ? [...(axes as readonly number[])] : axes;

function variance(
  given: Any,
  axes: Axes | undefined,
  correction = 0,
  options: ReductionOptions,
  what: 'var' | 'std',
): Pending<Tensor> {
  if (typeof (correction as unknown) !== 'number' || !Number.isFinite(correction)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the correction is ${describeValue(correction)}. Pass a number, such as 1 for a sample.`,
    );
  }
  return composed(given, options.out, function* (x) {
    const mean = yield reduction('mean', x, axes, stepOptions(options, true), { what });
    const squares = op('square', op('sub', x, mean));
    if (what === 'var') return reduction('mean', squares, axes, options, { what, correction });
    const step = stepOptions(options, options.keepDims);
    return last(
      'sqrt',
      [yield reduction('mean', squares, axes, step, { what, correction })],
      options,
    );
  });
}

/** An operation in float64: squares of float32 reach beyond it at both ends. */
const double = (name: OperatorName, ...operands: readonly unknown[]): Any =>
  elementwise(name, operands, undefined, { ...alone(name), gives: DOUBLE }) as unknown as Any;

const DOUBLE = { dtype: 'float64', computesIn: 'float64' } as const;
const ROUNDED = { dtype: 'float32', computesIn: 'float64' } as const;

/** What is computed of a tensor in float64, as its results are. */
const roundedAs = (x: Any): typeof DOUBLE | typeof ROUNDED =>
  (x as Tensor).dtype === 'float64' ? DOUBLE : ROUNDED;

const VARIANCE_OPTIONS: OptionNames<VarianceOptions> = { ...REDUCTION_OPTIONS, correction: true };
const NORM_OPTIONS: OptionNames<NormOptions> = { ...REDUCTION_OPTIONS, ord: true };

function norm(x: Any, axes: Axes | undefined, ord = 2, options: ReductionOptions): Pending<Tensor> {
  const step = stepOptions(options, options.keepDims);
  if (typeof (ord as unknown) !== 'number' || !(ord > 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `norm: ord is ${describeValue(ord)}. Pass a positive number, or Infinity for the largest magnitude.`,
    );
  }
  const use = { what: 'norm' };
  if (ord === 1) return reduction('sum', op('abs', x), axes, options, use);
  // no magnitude is negative, and none is there of nothing
  if (ord === Infinity) {
    return composed(x, options.out, function* () {
      const most = yield reduction('max', op('abs', x), axes, step, use);
      return last('maximum', [most, 0], options);
    });
  }
  const gives = roundedAs(x);
  if (ord === 2 && gives === DOUBLE) return scaledNorm(x, axes, options);
  const power = ord === 2 ? double('square', x) : double('pow', double('abs', x), ord);
  return composed(x, options.out, function* () {
    const sum = yield reduction('sum', power, axes, step, use);
    const rounded = { ...use, operands: [], gives };
    if (ord === 2) return last('sqrt', [sum], options, rounded);
    return last('pow', [sum, 1 / ord], options, rounded);
  });
}

/** Beyond these the squares of float64 are infinite, or lose digits; and the power of two that takes numbers there away from the ends. */
const [LARGE, SMALL, SCALE] = [1e150, 1e-150, 2 ** 600];

/**
 * The Euclidean norm in float64: of numbers that are scaled by a power of two, which changes no digit, where the largest asks for it (Blue, "A
 * portable Fortran program to find the Euclidean norm of a vector", ACM TOMS 4, 1978).
 */
function scaledNorm(
  given: Any,
  axes: Axes | undefined,
  options: ReductionOptions,
): Pending<Tensor> {
  const use = { what: 'norm' };
  const step = stepOptions(options, true);
  return composed(given, options.out, function* (x) {
    const most = yield reduction('max', op('abs', x), axes, step, use);
    const up = double('where', op('lt', most, SMALL), SCALE, 1);
    const scale = double('where', op('gt', most, LARGE), 1 / SCALE, up);
    const sum = yield reduction('sum', op('square', op('mul', x, scale)), axes, step, use);
    // over axes that have one element left: takes them away where they do not stay
    return reduction('sum', op('div', op('sqrt', sum), scale), axes, options, use);
  });
}

/**
 * The largest elements and the sum of `exp(x - largest)` along axes that stay. Where the largest is infinite nothing is subtracted: e to the
 * power of what is left is then infinite, or 0.
 */
function* shifted(
  what: string,
  x: Any,
  axes: Axes | undefined,
  options: ReductionOptions,
): Steps<{ readonly exp: Any; readonly sum: Tensor; readonly most: Any }> {
  const step = stepOptions(options, true);
  const largest = yield reduction('max', x, axes, step, { what });
  const most = op('where', op('isFinite', largest), largest, 0);
  const exp = op('exp', op('sub', x, most));
  return { exp, sum: yield reduction('sum', exp, axes, step, { what }), most };
}

/** Of what is known to lie on a GPU, where one kernel adds up exponentials and what is subtracted of them; undefined elsewhere. */
function onGpu(x: Any): Pick<Tensor, 'shape'> | undefined {
  const present = presentOperand(x);
  const isKnown = isTensor(present) || present instanceof ChainResult;
  return isKnown && present.device.kind === 'cuda' ? present : undefined;
}

/** Whether few enough elements share a sum that one kernel goes back to each of them. Of more, several kernels make one each with more blocks. */
function isOneKernel(what: string, x: Any, axis: Axes | undefined): boolean {
  const present = onGpu(x);
  if (present === undefined) return false;
  const axes = checkAxes(what, axis, present.shape);
  return axes.reduce((count, one) => count * (present.shape[one] ?? 1), 1) <= MOST_SPREAD;
}

function logSumExp(given: Any, axes: Axes | undefined, options: ReductionOptions): Pending<Tensor> {
  const what = 'logSumExp';
  return composed(given, options.out, function* (x) {
    if (onGpu(x) !== undefined) return reduction(what, x, axes, options);
    const { sum, most } = yield* shifted(what, x, axes, options);
    // over axes that have one element left: takes them away where they do not stay
    return reduction('sum', op('add', op('log', sum), most), axes, options, { what });
  });
}

const softmax = (given: Any, axis: Axes | undefined): Pending<Tensor> =>
  composed(given, undefined, function* (x) {
    if (isOneKernel('softmax', x, axis)) return reduction('softmax', x, axis, NO_OPTIONS);
    const { exp, sum } = yield* shifted('softmax', x, axis, NO_OPTIONS);
    return op('div', exp, sum) as Pending<Tensor>;
  });

const logSoftmax = (given: Any, axis: Axes | undefined): Pending<Tensor> =>
  composed(given, undefined, function* (x) {
    if (isOneKernel('logSoftmax', x, axis)) return reduction('logSoftmax', x, axis, NO_OPTIONS);
    const { sum, most } = yield* shifted('logSoftmax', x, axis, NO_OPTIONS);
    return op('sub', op('sub', x, most), op('log', sum)) as Pending<Tensor>;
  });

const methods: Readonly<Record<string, (x: Any, axes?: Axes, options?: never) => Pending<Tensor>>> =
  {
    sum: reduces('sum'),
    mean: reduces('mean'),
    prod: reduces('prod'),
    min: reduces('min'),
    max: reduces('max'),
    argMin: reduces('argMin'),
    argMax: reduces('argMax'),
    any: reduces('any'),
    all: reduces('all'),
    var: (x, axes, given?: VarianceOptions) => {
      const { correction, ...options } = readOptions('var', given, VARIANCE_OPTIONS);
      return inFloatingPoint(x, options, (y, rest) =>
        variance(y, kept(axes), correction, rest, 'var'),
      );
    },
    std: (x, axes, given?: VarianceOptions) => {
      const { correction, ...options } = readOptions('std', given, VARIANCE_OPTIONS);
      return inFloatingPoint(x, options, (y, rest) =>
        variance(y, kept(axes), correction, rest, 'std'),
      );
    },
    norm: (x, axes, given?: NormOptions) => {
      const { ord, ...options } = readOptions('norm', given, NORM_OPTIONS);
      return inFloatingPoint(x, options, (y, rest) => norm(y, kept(axes), ord, rest));
    },
    logSumExp: (x, axes, given?: ReductionOptions) => {
      const options = readOptions('logSumExp', given, REDUCTION_OPTIONS);
      return inFloatingPoint(x, options, (y, rest) => logSumExp(y, kept(axes), rest));
    },
    softmax: (x, axis = -1, ...more) => {
      refuseMore('softmax', more, 'Pass the axis alone');
      return inFloatingPoint(x, NO_OPTIONS, (y) => softmax(y, kept(axis)));
    },
    logSoftmax: (x, axis = -1, ...more) => {
      refuseMore('logSoftmax', more, 'Pass the axis alone');
      return inFloatingPoint(x, NO_OPTIONS, (y) => logSoftmax(y, kept(axis)));
    },
  };

/** Of all examples, each along its own axes. */
const mapReduction =
  (name: string): BatchRule<readonly [x: KnownValue, axes?: Axes, ...options: unknown[]]> =>
  ({ args: [x, axes = AXIS[name], ...rest], size, call }) => {
    const [, ...shape] = x.shape;
    const run = call as (...given: readonly unknown[]) => Pending<Tensor>;
    if (shape.length > 0 || axes !== undefined)
      return run(x, shiftedAxes(name, axes, shape), ...rest);
    return run(x.reshape([size, 1]), 1, ...rest).reshape([size]);
  };

/** Along which axis an operation goes that names none, where that is not all. */
const AXIS: Readonly<Record<string, number>> = { softmax: -1, logSoftmax: -1 };

/** A reduction that traces record. */
function traceable(
  name: string,
  call: (...given: never[]) => Pending<Tensor>,
): (...given: never[]) => Promise<unknown> {
  const primitive: Primitive = {
    name,
    call: (...given: never[]) => face(...given),
    untraced: call,
    derivative: REDUCTION_RULES[name],
    batch: mapReduction(name),
  };
  const face = (...given: never[]): Promise<unknown> =>
    (recorded(primitive, given) as Promise<unknown> | undefined) ?? call(...given);
  return face;
}

attachMethods(
  Object.fromEntries(Object.entries(methods).map(([name, call]) => [name, traceable(name, call)])),
);
