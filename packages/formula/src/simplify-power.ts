import { constant } from './build.js';
import { div, mul, pow, sqrt } from './constructors.js';
import type { RealExpr } from './expr.js';
import type { Facts, SimplifyRule } from './simplify-rule.js';

const LARGEST_UNROLLED = 8;
/** Odd multiples of 1/4 up to this one become products and nested square roots. */
const LARGEST_QUARTER = 4;

/** Powers with a constant exponent: products where x may be negative, roots where it may not. */
export const powerOf: SimplifyRule = (node, facts) => {
  const [base, exponent] = node.args as readonly [RealExpr, RealExpr];
  if (base.value === 1) return constant(1);
  const power = exponent.value;
  if (power === undefined) return undefined;
  if (power === 0) return constant(1);
  if (power === 1) return base;
  return (
    nestedPower(base, power, facts) ??
    (Math.abs(power) <= LARGEST_UNROLLED ? unrolled(base, power, facts) : undefined)
  );
};

/** `(x ^ a) ^ b` is `x ^ (a b)`, and `sqrt(x) ^ b` is `x ^ (b / 2)`, where x is not negative. */
function nestedPower(base: RealExpr, power: number, facts: Facts): RealExpr | undefined {
  if (base.op !== 'pow' && base.op !== 'sqrt') return undefined;
  const [inner, exponent] = base.args as readonly [RealExpr, RealExpr?];
  const innerPower = base.op === 'sqrt' ? 0.5 : exponent?.value;
  if (innerPower === undefined || !facts.isNonNegative(inner)) return undefined;
  return pow(inner, innerPower * power);
}

function unrolled(base: RealExpr, power: number, facts: Facts): RealExpr | undefined {
  const quarters = 4 * power;
  if (!Number.isInteger(quarters)) return undefined;
  if (quarters % 2 !== 0 && Math.abs(power) > LARGEST_QUARTER) return undefined;
  if (!Number.isInteger(power) && !facts.isNonNegative(base)) return undefined;
  if (power < 0) return div(1, unrolledPositive(base, -power));
  return unrolledPositive(base, power);
}

function unrolledPositive(base: RealExpr, power: number): RealExpr {
  const whole = Math.floor(power);
  const rest = power - whole;
  const root = rest >= 0.5 ? sqrt(base) : undefined;
  const fourthRoot = rest % 0.5 === 0 ? undefined : sqrt(sqrt(base));
  // |x| ^ odd = (x * x) ^ k * |x|: the square needs no absolute value.
  const plain = base.op === 'abs' ? (base.args[0] as RealExpr) : base;
  const even = evenPower(plain, whole - (whole % 2));
  const odd = whole % 2 === 1 ? base : undefined;
  return [even, odd, root, fourthRoot]
    .filter(isPresent)
    .reduce((product, factor) => mul(product, factor));
}

/** `x ^ power` by squaring, for an even power; undefined for 0. */
function evenPower(x: RealExpr, power: number): RealExpr | undefined {
  if (power === 0) return undefined;
  const square = mul(x, x);
  if (power === 2) return square;
  const fourth = mul(square, square);
  if (power === 4) return fourth;
  return power === 6 ? mul(fourth, square) : mul(fourth, fourth);
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}
