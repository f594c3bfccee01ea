import type { Expr } from '../index.js';

/**
 * A value with a bound on how far an algebraically equal evaluation may be from it. `trusted` is
 * false where rounding decides (a comparison of nearly equal numbers, a root of nearly 0), where an
 * intermediate result leaves the range, or where the sign of a zero chooses between infinities.
 */
export interface Bounded {
  readonly value: number;
  readonly error: number;
  readonly trusted: boolean;
}

/** Rounding allowed per operation: a rewritten power has up to four roundings. */
const UNIT = 2 ** -50;

/** Recursive evaluation with running error bounds; shares no code with the evaluator under test. */
export function evaluateBounded(expr: Expr, data: Readonly<Record<string, number>>): Bounded {
  if (expr.value !== undefined) return { value: expr.value, error: 0, trusted: true };
  if (expr.name !== undefined) return { value: data[expr.name] ?? NaN, error: 0, trusted: true };
  const args = expr.args.map((arg) => evaluateBounded(arg, data));
  const x = args[0] as Bounded;
  const y = args[1] ?? x;
  const z = args[2] ?? x;
  const { value, error, trusted } =
    OPERATIONS[expr.fn ?? expr.op]?.(x, y, z) ?? fail(expr.fn ?? expr.op);
  const fromFinite = args.every((arg) => Number.isFinite(arg.value));
  const size = Math.abs(value);
  const outOfRange = fromFinite && (size > 1e60 || (size < 1e-60 && size > 0));
  return {
    value,
    error: Number.isFinite(value) ? error : 0,
    trusted: trusted && !outOfRange && !(error > 1e-3 * (1 + size)) && args.every((a) => a.trusted),
  };
}

interface Step {
  readonly value: number;
  readonly error: number;
  readonly trusted: boolean;
}

const step = (value: number, error: number, trusted = true): Step => ({
  value,
  error: error + UNIT * Math.abs(value),
  trusted,
});
/** False where `x` may be on either side of 0. */
const offZero = (x: Bounded): boolean => x.error === 0 || !(Math.abs(x.value) <= x.error);
const apart = (x: Bounded, y: Bounded): boolean =>
  x.error + y.error === 0 || !(Math.abs(x.value - y.value) <= x.error + y.error);
const test = (outcome: boolean, x: Bounded, y: Bounded): Step => ({
  value: outcome ? 1 : 0,
  error: 0,
  trusted: apart(x, y),
});
const finiteOr0 = (error: number): number => (Number.isFinite(error) ? error : 0);

const OPERATIONS: Readonly<Record<string, (x: Bounded, y: Bounded, z: Bounded) => Step>> = {
  add: (x, y) => step(x.value + y.value, x.error + y.error),
  sub: (x, y) => step(x.value - y.value, x.error + y.error),
  mul: (x, y) => {
    const error = Math.abs(x.value) * y.error + Math.abs(y.value) * x.error + x.error * y.error;
    // An infinity times something that may or may not be 0, or a product that may have vanished.
    const lost = x.value * y.value === 0 && x.value !== 0 && y.value !== 0;
    return step(
      x.value * y.value,
      finiteOr0(error),
      !lost && (Number.isFinite(x.value) || offZero(y)) && (Number.isFinite(y.value) || offZero(x)),
    );
  },
  div: (x, y) => {
    const value = x.value / y.value;
    const room = Math.abs(y.value) - y.error;
    const pole = y.value === 0 && (x.value !== 0 || x.error > 0);
    const lost = value === 0 && x.value !== 0 && Number.isFinite(y.value);
    return step(
      value,
      finiteOr0((x.error + Math.abs(value) * y.error) / (room > 0 ? room : 1)),
      !pole && !lost && offZero(y),
    );
  },
  neg: (x) => ({ value: -x.value, error: x.error, trusted: true }),
  abs: (x) => ({ value: Math.abs(x.value), error: x.error, trusted: true }),
  sign: (x) => ({ value: Math.sign(x.value), error: 0, trusted: offZero(x) }),
  sqrt: (x) => step(Math.sqrt(x.value), rootError(x), offZero(x)),
  rsqrt: (x) => {
    const value = x.value === 0 ? 0 : 1 / Math.sqrt(x.value);
    return step(value, finiteOr0(rootError(x) * value * value), offZero(x));
  },
  pow: (x, y) => {
    const ones = x.value === 1 || (x.value === -1 && Math.abs(y.value) === Infinity);
    const value = ones ? 1 : x.value ** y.value;
    const fromBase = x.error === 0 ? 0 : (Math.abs(y.value) * x.error) / Math.abs(x.value);
    const fromExponent = y.error === 0 ? 0 : Math.abs(Math.log(Math.abs(x.value))) * y.error;
    const pole = x.value === 0 && y.value < 0;
    const lost =
      value === 0 && x.value !== 0 && Number.isFinite(x.value) && Number.isFinite(y.value);
    const edge = Math.abs(y.value) === Infinity && !apart({ ...x, value: Math.abs(x.value) }, ONE);
    const log = Math.abs(Math.log2(Math.abs(x.value)) * y.value);
    return step(
      value,
      finiteOr0(Math.abs(value) * (fromBase + fromExponent + UNIT * finiteOr0(log))),
      !pole && !lost && !edge && offZero(x) && offZero(y) && (y.error === 0 || x.value > 0),
    );
  },
  exp: (x) => {
    const value = Math.exp(x.value);
    const lost = (value === 0 || value === Infinity) && Number.isFinite(x.value);
    return step(value, finiteOr0(value * Math.expm1(x.error)), !lost);
  },
  // Their slopes are at most 1.
  sin: (x) => step(Math.sin(x.value), x.error),
  cos: (x) => step(Math.cos(x.value), x.error),
  tanh: (x) => step(Math.tanh(x.value), x.error),
  log: (x) => step(Math.log(x.value), finiteOr0(x.error / Math.abs(x.value)), offZero(x)),
  min: (x, y) => ({ value: Math.min(x.value, y.value), error: x.error + y.error, trusted: true }),
  max: (x, y) => ({ value: Math.max(x.value, y.value), error: x.error + y.error, trusted: true }),
  lt: (x, y) => test(x.value < y.value, x, y),
  le: (x, y) => test(x.value <= y.value, x, y),
  gt: (x, y) => test(x.value > y.value, x, y),
  ge: (x, y) => test(x.value >= y.value, x, y),
  eq: (x, y) => test(x.value === y.value, x, y),
  ne: (x, y) => test(x.value !== y.value, x, y),
  select: (c, a, b) => (c.value === 1 ? a : b),
};

const ONE: Bounded = { value: 1, error: 0, trusted: true };

function rootError(x: Bounded): number {
  return x.error === 0 ? 0 : finiteOr0(x.error / Math.sqrt(Math.abs(x.value)));
}

function fail(op: string): never {
  throw new Error(`no bounded evaluation of ${op}`);
}
