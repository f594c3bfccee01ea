import {
  abs,
  add,
  call,
  constant,
  div,
  eq,
  exp,
  ge,
  gt,
  le,
  log,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  pow,
  rsqrt,
  select,
  sign,
  sqrt,
  sub,
  tanh,
  type BoolExpr,
  type RealExpr,
} from '@mercer/formula';
import type { DTypeRule } from './dtype-rules.js';

/** An elementwise operation: how its dtype follows, and its formula. A truth is 1 or 0. */
export interface Operator {
  readonly arity: 1 | 2 | 3;
  readonly rule: DTypeRule;
  /** Bool operands count as int32. */
  readonly arithmetic?: boolean;
  /** Operands that only decide: their dtype is not that of the result. */
  readonly conditions?: 1;
  readonly formula: (...operands: readonly RealExpr[]) => RealExpr;
  /** The formula where the result has whole numbers, if it is another one. */
  readonly whole?: (...operands: readonly RealExpr[]) => RealExpr;
}

type Unary = (x: RealExpr) => RealExpr;
type Binary = (x: RealExpr, y: RealExpr) => RealExpr;

const unary = (rule: DTypeRule, formula: Unary): Operator => ({
  arity: 1,
  rule,
  formula: (x) => formula(x),
});
const binary = (rule: DTypeRule, formula: Binary): Operator => ({
  arity: 2,
  rule,
  formula: (x, y) => formula(x, y),
});

const floating = (formula: Unary): Operator => unary('floating', formula);
const named = (fn: Parameters<typeof call>[0], ...attributes: number[]): Operator =>
  floating((x) => call(fn, [x], attributes));
const arithmetic = (operator: Operator): Operator => ({ ...operator, arithmetic: true });

const truth = (condition: BoolExpr): RealExpr => select(condition, 1, 0);
const holds = (x: RealExpr): BoolExpr => ne(x, 0);
const comparison = (compare: (x: RealExpr, y: RealExpr) => BoolExpr): Operator =>
  binary('truth', (x, y) => truth(compare(x, y)));

const square: Unary = (x) => mul(x, x);
const floor: Unary = (x) => call('floor', [x], []);
const ceil: Unary = (x) => call('ceil', [x], []);

/** The whole number nearest to x, the even one of two. */
function roundToEven(x: RealExpr): RealExpr {
  const below = floor(x);
  const rest = sub(x, below);
  // not below + 1, which has the other sign at 0
  const above = ceil(x);
  const isEven = eq(mul(2, floor(mul(0.5, below))), below);
  const ofHalves = select(isEven, below, above);
  return select(lt(rest, 0.5), below, select(gt(rest, 0.5), above, ofHalves));
}

/**
 * x - y floor(x / y), with y's sign, as numpy's; what rounding leaves beyond a multiple of y is put right, and finite numbers have an
 * infinite multiple of no infinity.
 */
function modulo(x: RealExpr, y: RealExpr): RealExpr {
  const isSmall = select(eq(abs(y), Infinity), truth(lt(abs(x), Infinity)), 0);
  const rest = sub(x, select(holds(isSmall), 0, mul(y, floor(div(x, y)))));
  return select(lt(mul(rest, y), 0), add(rest, y), rest);
}

/**
 * A logarithm of x by the factor that turns natural ones into it; whole where x is a power of the base, which rounding makes a neighbour of a
 * whole number in the data type: adding a bit less than half of the difference changes nothing.
 */
const logarithm =
  (factor: number): Unary =>
  (x) => {
    const quotient = mul(log(x), factor);
    const whole = floor(add(quotient, 0.5));
    const isNear = eq(add(whole, mul(0.45, sub(quotient, whole))), whole);
    return select(isNear, whole, quotient);
  };

/** Bits of an exponent: powers of 2 and larger numbers to exponents with more are beyond every dtype. */
const EXPONENT_BITS = 7;

/** x ^ y of whole numbers, by squaring: exact where float64, or float32, holds the power. */
function wholePower(x: RealExpr, y: RealExpr): RealExpr {
  if (y.value !== undefined) return pow(x, y);
  const isOdd = (of: RealExpr): BoolExpr => ne(mul(2, floor(mul(0.5, of))), of);
  const size = abs(y);
  const most = 2 ** EXPONENT_BITS;
  let rest = select(lt(size, most), size, select(isOdd(size), most - 1, most - 2));
  let power: RealExpr = constant(1);
  for (let bit = 0, square = x; bit < EXPONENT_BITS; bit++, square = mul(square, square)) {
    power = select(isOdd(rest), mul(power, square), power);
    rest = floor(mul(0.5, rest));
  }
  return select(lt(y, 0), div(1, power), power);
}

/** Every elementwise operation of tensors, by its name. */
export const OPERATORS = {
  add: arithmetic(binary('common', add)),
  sub: arithmetic(binary('common', sub)),
  mul: arithmetic(binary('common', mul)),
  div: binary('floating', div),
  mod: arithmetic(binary('common', modulo)),
  pow: { ...arithmetic(binary('common', pow)), whole: wholePower },
  minimum: binary('common', min),
  maximum: binary('common', max),
  atan2: binary('floating', (y, x) => call('atan2', [y, x], [])),
  neg: arithmetic(unary('common', neg)),
  abs: arithmetic(unary('common', abs)),
  sign: arithmetic(unary('common', sign)),
  square: arithmetic(unary('common', square)),
  relu: arithmetic(unary('common', (x) => max(x, 0))),
  floor: arithmetic(unary('common', floor)),
  ceil: arithmetic(unary('common', ceil)),
  round: arithmetic(unary('common', roundToEven)),
  reciprocal: floating((x) => div(1, x)),
  exp: floating(exp),
  expm1: named('expm1'),
  log: floating(log),
  log2: floating(logarithm(Math.LOG2E)),
  log10: floating(logarithm(Math.LOG10E)),
  log1p: named('log1p'),
  sqrt: floating(sqrt),
  rsqrt: floating(rsqrt),
  sin: named('sin'),
  cos: named('cos'),
  tan: named('tan'),
  asin: named('asin'),
  acos: named('acos'),
  atan: named('atan'),
  sinh: named('sinh'),
  cosh: named('cosh'),
  tanh: floating(tanh),
  erf: named('erf'),
  erfc: named('erfc'),
  lgamma: named('lgamma'),
  sigmoid: floating((x) => div(1, add(1, exp(neg(x))))),
  softplus: named('softplus'),
  gelu: floating((x) => mul(mul(0.5, x), add(1, call('erf', [mul(x, Math.SQRT1_2)], [])))),
  eq: comparison(eq),
  ne: comparison(ne),
  lt: comparison(lt),
  le: comparison(le),
  gt: comparison(gt),
  ge: comparison(ge),
  logicalAnd: binary('truth', (x, y) => select(holds(x), truth(holds(y)), 0)),
  logicalOr: binary('truth', (x, y) => select(holds(x), 1, truth(holds(y)))),
  logicalXor: binary('truth', (x, y) => truth(ne(truth(holds(x)), truth(holds(y))))),
  logicalNot: unary('truth', (x) => truth(eq(x, 0))),
  isNaN: unary('truth', (x) => truth(ne(x, x))),
  isFinite: unary('truth', (x) => truth(lt(abs(x), Infinity))),
  isInfinite: unary('truth', (x) => truth(eq(abs(x), Infinity))),
  where: {
    arity: 3,
    rule: 'common',
    conditions: 1,
    formula: (condition, x, y) => select(holds(condition), x, y),
  },
} as const satisfies Readonly<Record<string, Operator>>;

/** The name of an elementwise operation. */
export type OperatorName = keyof typeof OPERATORS;
