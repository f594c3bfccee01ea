import { call, variable } from '@mercer/formula';
import { map } from '../map.js';
import type { Tensor } from '../tensor.js';
import {
  zerosLike,
  type DerivativeRule,
  type KnownValue,
  type Share,
  type Value,
} from '../trace/primitive.js';
import { summedTo } from '../trace/summed-to.js';
import type { OperatorName } from './operators.js';

/** An operand of an elementwise operation. */
type Operand = KnownValue | number | boolean;

/** What one operand's change contributes to that of the result: `t` times the partial derivative. The same for tangents and cotangents. */
type Partial = (t: Value, operands: readonly [KnownValue, ...Operand[]], y: KnownValue) => Value;

/** A partial derivative for each operand; undefined where it is 0 everywhere. */
type Partials = readonly (Partial | undefined)[];

/** The partial derivative of an operation on one tensor, as a factor. */
const slope = (of: (x: KnownValue, y: KnownValue) => Value): Partials => [
  (t, [x], y) => of(x, y).mul(t),
];

/** Half of it where both are equal. */
const chosen =
  (is: 'lt' | 'gt', at: 0 | 1): Partial =>
  (t, operands) => {
    const [x, y] = (at === 0 ? operands : operands.toReversed()) as [Operand, Operand];
    const [one, other, flipped] =
      typeof x === 'object' ? [x, y, is] : [y as KnownValue, x, is === 'lt' ? 'gt' : 'lt'];
    const half = t.mul(0.5);
    return one[flipped as 'lt'](other as Value).where(t, one.eq(other as Value).where(half, 0));
  };

const DIGAMMA = call('polygamma', [variable('x')], [0]);

const LOG10E = Math.LOG10E;
const { LOG2E, PI } = Math;
const TWO_OVER_ROOT_PI = 2 / Math.sqrt(PI);

/** `x ^ (n - 1) n`, and 0 where n is 0, also at 0. */
const powerSlope: Partial = (t, [x, n]) => {
  const exponent = n as Operand;
  if (typeof exponent !== 'object') {
    const power = Number(exponent);
    return power === 0 ? t.mul(0) : x.pow(power - 1).mul(t.mul(power));
  }
  const base = x as Value | number;
  const slope =
    typeof base === 'number' ? raised(base, exponent.sub(1)) : base.pow(exponent.sub(1));
  return exponent.eq(0).where(0, slope.mul(exponent).mul(t));
};

/** A number to the power of a tensor: with a tensor as its first operand. */
const raised = (base: number, exponent: Value): Value => exponent.mul(0).add(base).pow(exponent);

/** `log(x) x ^ n`, and 0 where x is 0. */
const exponentSlope: Partial = (t, [x, n], y) => {
  const base = x as Operand;
  if (typeof base !== 'object') return y.mul(base === 0 ? 0 : Math.log(Number(base))).mul(t);
  void n;
  const isZero = base.eq(0);
  return isZero.where(0, y.mul(isZero.where(1, base).log()).mul(t));
};

const radius = (y: Operand, x: Operand): Value =>
  typeof y === 'object' ? y.square().add(squared(x)) : (x as KnownValue).square().add(squared(y));

const squared = (x: Operand): Value | number =>
  typeof x === 'object' ? x.square() : Number(x) ** 2;

const PARTIALS: Readonly<Record<OperatorName, Partials | 'constant' | undefined>> = {
  add: [(t) => t, (t) => t],
  sub: [(t) => t, (t) => t.neg()],
  mul: [(t, [, y]) => t.mul(y as Value), (t, [x]) => t.mul(x)],
  div: [
    (t, [, y]) => t.div(y as Value),
    (t, [, y], quotient) =>
      t
        .neg()
        .mul(quotient)
        .div(y as Value),
  ],
  mod: [
    (t) => t,
    (t, [x, y]) => {
      const quotient =
        typeof x === 'object' ? x.div(y as Value) : (y as KnownValue).reciprocal().mul(x);
      return t.neg().mul(quotient.floor());
    },
  ],
  pow: [powerSlope, exponentSlope],
  minimum: [chosen('lt', 0), chosen('lt', 1)],
  maximum: [chosen('gt', 0), chosen('gt', 1)],
  atan2: [
    (t, [y, x]) => t.mul(x as Value).div(radius(y, x as Operand)),
    (t, [y, x]) =>
      t
        .neg()
        .mul(y)
        .div(radius(y, x as Operand)),
  ],
  neg: [(t) => t.neg()],
  abs: slope((x) => x.sign()),
  sign: 'constant',
  square: slope((x) => x.mul(2)),
  relu: [(t, [x]) => x.gt(0).where(t, 0)],
  floor: 'constant',
  ceil: 'constant',
  round: 'constant',
  reciprocal: slope((_, y) => y.square().neg()),
  exp: slope((_, y) => y),
  expm1: slope((x) => x.exp()),
  log: [(t, [x]) => t.div(x)],
  log2: [(t, [x]) => t.mul(LOG2E).div(x)],
  log10: [(t, [x]) => t.mul(LOG10E).div(x)],
  log1p: [(t, [x]) => t.div(x.add(1))],
  sqrt: slope((x) => x.rsqrt().mul(0.5)),
  rsqrt: slope((_, y) => y.mul(y).mul(y).mul(-0.5)),
  sin: slope((x) => x.cos()),
  cos: slope((x) => x.sin().neg()),
  tan: slope((_, y) => y.square().add(1)),
  asin: [(t, [x]) => t.div(x.square().neg().add(1).sqrt())],
  acos: [(t, [x]) => t.neg().div(x.square().neg().add(1).sqrt())],
  atan: [(t, [x]) => t.div(x.square().add(1))],
  sinh: slope((x) => x.cosh()),
  cosh: slope((x) => x.sinh()),
  tanh: slope((_, y) => y.square().neg().add(1)),
  erf: slope((x) => x.square().neg().exp().mul(TWO_OVER_ROOT_PI)),
  erfc: slope((x) => x.square().neg().exp().mul(-TWO_OVER_ROOT_PI)),
  lgamma: slope((x) => map(DIGAMMA, { x: x as Tensor })),
  sigmoid: slope((_, y) => y.mul(y.neg().add(1))),
  softplus: slope((x) => x.sigmoid()),
  gelu: slope((x) =>
    x
      .mul(Math.SQRT1_2)
      .erf()
      .add(1)
      .mul(0.5)
      .add(
        x
          .square()
          .mul(-0.5)
          .exp()
          .mul(x)
          .mul(1 / Math.sqrt(2 * PI)),
      ),
  ),
  eq: 'constant',
  ne: 'constant',
  lt: 'constant',
  le: 'constant',
  gt: 'constant',
  ge: 'constant',
  logicalAnd: 'constant',
  logicalOr: 'constant',
  logicalXor: 'constant',
  logicalNot: 'constant',
  isNaN: 'constant',
  isFinite: 'constant',
  isInfinite: 'constant',
  where: [
    undefined,
    (t, [condition]) => condition.where(t, 0),
    (t, [condition]) => condition.where(0, t),
  ],
};

type Args = readonly [KnownValue, ...Operand[]];

const ruleOf = (partials: Partials): DerivativeRule<Args> => ({
  broadcasts: true,
  isOfForms: true,
  vjp: (g, { args, result }) =>
    partials.map((partial, at): Share => {
      const x = args[at];
      if (partial === undefined || typeof x !== 'object') return undefined;
      return () => toShape(partial(g, args, result), result.shape, x.shape);
    }),
  jvp: (tangents, { args, result }) => {
    let sum: Value | undefined;
    for (const [at, partial] of partials.entries()) {
      const tangent = tangents[at] as Value | undefined;
      if (partial === undefined || tangent === undefined) continue;
      const part = partial(tangent, args, result);
      sum = sum?.add(part) ?? part;
    }
    return sum && inFull(sum, result);
  },
});

/** A tangent of the result's shape: of an operand that was broadcast it may be smaller. */
function inFull(tangent: Value, result: KnownValue): Value {
  const { shape } = tangent as { readonly shape?: readonly number[] };
  const isWhole =
    shape?.length === result.shape.length && shape.every((n, k) => n === result.shape[k]);
  return isWhole ? tangent : tangent.add(zerosLike(result));
}

const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((n, k) => n === b[k]);

/** A share of the result's shape, or one that broadcasts to it, as that of an operand. */
function toShape(share: Value, from: readonly number[], to: readonly number[]): Value {
  if (sameShape(from, to)) return share;
  const isWhole = sameShape((share as KnownValue).shape, from);
  return summedTo(isWhole ? share : share.broadcastTo(from), from, to);
}

/** How each elementwise operation is differentiated. */
export const ELEMENTWISE_RULES = Object.fromEntries(
  Object.entries(PARTIALS).map(([name, partials]) => [
    name,
    typeof partials === 'object' ? ruleOf(partials) : partials,
  ]),
) as Readonly<Record<OperatorName, DerivativeRule | 'constant' | undefined>>;
