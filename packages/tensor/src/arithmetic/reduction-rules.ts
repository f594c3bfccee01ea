import { stack } from '../shaping/join.js';
import { pad } from '../shaping/pad.js';
import type { Pending } from '../pending.js';
import type { Tensor } from '../tensor.js';
import type { AppliedCall, DerivativeRule, KnownValue, Value } from '../trace/primitive.js';
import { checkAxes, type Axes } from './axes.js';

/** What all options of reductions may say. */
interface Options {
  readonly keepDims?: boolean | undefined;
  readonly correction?: number | undefined;
  readonly ord?: number | undefined;
}

type Args = readonly [x: KnownValue, axes?: Axes, options?: Options];

/** A reduction that is differentiated. */
interface Reduced {
  readonly x: KnownValue;
  /** The result, with extents of 1 where axes were reduced: computed where it is needed. A getter in a literal would be a hidden class of its own each time. */
  readonly y: () => Value;
  readonly axes: readonly number[];
  readonly options: Options;
  /** How many elements became one. */
  readonly count: number;
}

/** By how much the result changes with each element. */
type Weights = (of: Reduced) => Value | number;

const KEPT = { keepDims: true } as const;

/** `x / y`, and 0 where y is 0. */
function quotient(x: Value, y: Value): Value {
  const isZero = y.eq(0);
  return isZero.where(0, x.div(isZero.where(1, y)));
}

const deviation = ({ x, axes }: Reduced): Value => x.sub(x.mean(axes, KEPT));

/** Those that are the result share the gradient. */
function extreme({ x, y, axes }: Reduced): Value {
  const is = x.eq(y());
  return is.cast(x.dtype === 'float64' ? 'float64' : 'float32').div(is.sum(axes, KEPT));
}

/** The products of all others, without a division, so that zeros have their derivatives of every order. */
function productOfOthers({ x, axes, count }: Reduced): Value {
  const { shape } = x;
  const rest = shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));
  const order = [...rest, ...axes];
  const rows = rest.reduce((product, axis) => product * (shape[axis] ?? 1), 1);
  if (rows * count === 0) return x;
  const lines = x.permute(order).contiguous().reshape([rows, count]);
  return othersOf(lines, rows, count)
    .reshape(order.map((axis) => shape[axis] ?? 1))
    .permute(order.map((_, axis) => order.indexOf(axis)));
}

/** The same along the second axis, from the products of pairs. */
function othersOf(x: Value, rows: number, count: number): Value {
  if (count === 1) return x.isNaN().where(1, 1);
  if (count % 2 === 1) {
    const even = pad(
      x as Tensor,
      [
        [0, 0],
        [0, 1],
      ],
      { value: 1 },
    );
    return othersOf(even, rows, count + 1)
      .slice(null, [0, count])
      .contiguous();
  }
  const [first, second] = [0, 1].map((start) => x.slice(null, [start, count, 2]));
  if (first === undefined || second === undefined) return x;
  const others = othersOf(first.mul(second), rows, count / 2);
  const woven = [others.mul(second), others.mul(first)] as readonly Pending<Tensor>[];
  return stack(woven, -1).reshape([rows, count]);
}

/** `|x|^(ord - 1)` of what each element is of the norm, with its sign. */
function normWeights({ x, y, axes, options: { ord = 2 } }: Reduced): Value {
  if (ord === 2) return quotient(x, y());
  if (ord === 1) return x.sign();
  const size = x.abs();
  if (ord !== Infinity) {
    const weight = quotient(size, y()).pow(ord - 1);
    // the weight of a zero is infinite below 1
    return (ord < 1 ? size.eq(0).where(0, weight) : weight).mul(x.sign());
  }
  const is = size.eq(y());
  return x.sign().mul(is).div(is.sum(axes, KEPT));
}

/** Where all elements are -Infinity the result is too, and none has a share of it. */
const unlessEmpty = (y: Value): Value => y.eq(-Infinity).where(0, y);

const WEIGHTS = {
  sum: () => 1,
  mean: ({ count }) => 1 / count,
  prod: productOfOthers,
  min: extreme,
  max: extreme,
  var: (of) => deviation(of).mul(2 / (of.count - (of.options.correction ?? 0))),
  std: (of) => quotient(deviation(of), of.y()).mul(1 / (of.count - (of.options.correction ?? 0))),
  norm: normWeights,
  logSumExp: ({ x, y }) => x.sub(unlessEmpty(y())).exp(),
} as const satisfies Readonly<Record<string, Weights>>;

/** A value that broadcasts to the result's shape as one that broadcasts to x's: with extents of 1 where axes were reduced. */
function kept(
  value: KnownValue,
  result: KnownValue,
  x: KnownValue,
  axes: readonly number[],
): Value {
  const [rank, lost] = [result.shape.length, x.shape.length - result.shape.length];
  // it stays as it is where axes stayed, or all that went lie in front
  if (lost === 0 || axes.every((axis) => axis < lost)) return value;
  const { shape } = value;
  if (shape.length === 0) return value;
  const own = [...Array.from({ length: rank - shape.length }, () => 1), ...shape];
  let at = 0;
  return value.reshape(x.shape.map((_, axis) => (axes.includes(axis) ? 1 : (own[at++] ?? 1))));
}

function reduced(name: string, { args, result }: AppliedCall<Args>): Reduced {
  const [x, given, options = {}] = args;
  const axes = checkAxes(name, given, x.shape);
  const count = axes.reduce((product, axis) => product * (x.shape[axis] ?? 1), 1);
  return {
    x,
    y: () => kept(result, result, x, axes),
    axes,
    options,
    count,
  };
}

const weighted = (name: string, weights: Weights): DerivativeRule<Args> => ({
  broadcasts: true,
  isOfForms: true,
  vjp: (g, call) => [
    () => {
      const of = reduced(name, call);
      const share = kept(g as KnownValue, call.result, of.x, of.axes);
      const weight = weights(of);
      return weight === 1 ? share : share.mul(weight);
    },
  ],
  jvp: ([tangent], call) => {
    const of = reduced(name, call);
    const { keepDims } = of.options;
    return (tangent as Value).mul(weights(of)).sum(of.axes, { keepDims });
  },
});

/** Its tangents are computed as its cotangents are: the matrix of its derivatives is symmetric. */
const softmax: DerivativeRule<Args> = {
  isOfForms: true,
  vjp: (g, call) => [() => ofSoftmax(g, call)],
  jvp: ([tangent], call) => ofSoftmax(tangent as Value, call),
};

const ofSoftmax = (t: Value, { args: [, axis = -1], result: y }: AppliedCall<Args>): Value =>
  y.mul(t.sub(t.mul(y).sum(axis, KEPT)));

const logSoftmax: DerivativeRule<Args> = {
  isOfForms: true,
  vjp: (g, { args: [, axis = -1], result: y }) => [() => g.sub(y.exp().mul(g.sum(axis, KEPT)))],
  jvp: ([tangent], { args: [, axis = -1], result: y }) => {
    const t = tangent as Value;
    return t.sub(t.mul(y.exp()).sum(axis, KEPT));
  },
};

/** How each reduction is differentiated. Where several elements are the least or the largest, they share the gradient. */
export const REDUCTION_RULES: Readonly<Record<string, DerivativeRule<Args> | 'constant'>> = {
  ...Object.fromEntries(
    Object.entries<Weights>(WEIGHTS).map(([name, weights]) => [name, weighted(name, weights)]),
  ),
  softmax,
  logSoftmax,
  argMin: 'constant',
  argMax: 'constant',
  any: 'constant',
  all: 'constant',
};
