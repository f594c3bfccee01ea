import {
  add,
  constant,
  div,
  eq,
  exp,
  finish,
  ge,
  gt,
  log,
  min,
  mul,
  neg,
  orderSteps,
  pow,
  select,
  sqrt,
  sub,
  visitSteps,
  wendlandTerms,
  withArgs,
  type CallNode,
  type Expr,
  type MathOp,
  type RealExpr,
  type Steps,
} from '@mercer/formula/plan';
import { PlanError } from '../plan-error.js';

type Expansion = (
  x: RealExpr,
  attributes: readonly number[],
  args: readonly RealExpr[],
) => RealExpr | undefined;

/** Functions that are arithmetic, roots, exponentials and powers of their argument, in the data type. */
const EXPANSIONS: { readonly [K in MathOp]?: Expansion } = {
  radialPower: (s, [q = 0]) => (q < 0 ? select(eq(s, 0), 0, powerOf(s, q)) : powerOf(s, q)),
  radialLog: (s, [q = 0]) => select(eq(s, 0), 0, mul(powerOf(s, q), mul(0.5, log(s)))),
  radialWendland: (s, [l = 1, k = 0]) => wendland(s, l, k),
  radialBesselK: (s, [nu = 0]) => radialHalfInteger(s, nu),
  besselK: (x, [nu = 0]) => halfInteger(x, Math.abs(nu)),
  oneAtZero: (f, _, [, s = ONE]) => select(eq(s, 0), 1, min(f, 1)),
};

/**
 * The expression with functions written out that need no text of their own: powers and logarithms of a
 * squared distance, Wendland's functions, Bessel functions of half-integer order, values held at 1. The same node where
 * there is none. Throws a `PlanError` for an order without kernel text.
 */
export function expandFunctions<E extends Expr>(expr: E): E {
  const [expandedOne = expr] = expandAllFunctions([expr]);
  return expandedOne;
}

/** What {@link expandFunctions} makes of each expression; what they have in common is looked at once. */
export function expandAllFunctions<E extends Expr>(exprs: readonly E[]): readonly E[] {
  return finish(expandFunctionsSteps(exprs));
}

/** {@link expandAllFunctions} in steps. */
export function* expandFunctionsSteps<E extends Expr>(exprs: readonly E[]): Steps<readonly E[]> {
  const order = yield* orderSteps<Expr>(exprs);
  if (!order.some(({ op }) => op === 'call')) return exprs;
  const done = new Map<Expr, Expr>();
  yield* visitSteps(order, (node) => {
    const args = node.args.map((arg) => done.get(arg) ?? arg);
    done.set(node, expanded(withArgs(node, args)));
  });
  return exprs.map((expr) => done.get(expr) as E);
}

function expanded(node: Expr): Expr {
  if (node.op !== 'call') return node;
  const { fn, args, attributes } = node as CallNode;
  checkOrder(fn, attributes[0] ?? 0);
  const [x] = args;
  return (x && EXPANSIONS[fn]?.(x, attributes, args)) ?? node;
}

/** Largest order of polygamma, of the Bessel function J, and of derivatives of sin(x) / x. */
const LARGEST_ORDERS: { readonly [K in MathOp]?: number } = {
  polygamma: 20,
  besselJ: 24,
  sinXDivX: 12,
};

function checkOrder(fn: MathOp, order: number): void {
  const most = LARGEST_ORDERS[fn];
  if (most === undefined || Math.abs(order) <= most) return;
  throw new PlanError(
    'UNSUPPORTED',
    `cannot emit '${fn}' of order ${order}: there is kernel text up to order ${most}. ` +
      `Use a lower order or fewer derivatives, or evaluate the formula without kernels.`,
  );
}

/** Largest exponent of a power that is written as products. */
const LARGEST_PRODUCT = 8;
/** Half-integer orders have closed forms of so many terms at most. */
const MOST_TERMS = 30;
const ROOT_HALF_PI = Math.sqrt(Math.PI / 2);
/** From here on exp(-z) is 0 in every data type, and powers of z may be infinite. */
const FAR = 1000;

/** `s^q`, by products and a square root where q is a multiple of 1/2 of moderate size. */
function powerOf(s: RealExpr, q: number): RealExpr {
  const size = Math.abs(q);
  if (!Number.isInteger(2 * q) || size > LARGEST_PRODUCT) return pow(s, q);
  const whole = productPower(s, Math.floor(size));
  const value = Number.isInteger(q) ? whole : times(whole, sqrt(s));
  return q < 0 ? div(1, value) : value;
}

const ONE = constant(1);
const times = (a: RealExpr, b: RealExpr): RealExpr => (a === ONE ? b : b === ONE ? a : mul(a, b));

/** `x^n` for whole n >= 0 by repeated squaring. */
function productPower(x: RealExpr, n: number): RealExpr {
  if (n === 0) return ONE;
  const half = productPower(x, n >> 1);
  return n % 2 === 0 ? times(half, half) : times(times(half, half), x);
}

/** A polynomial by its coefficients, lowest power first. */
function polynomial(coefficients: readonly number[], x: RealExpr): RealExpr {
  return coefficients
    .map((c): RealExpr => constant(c))
    .reduceRight((high, low) => add(mul(high, x), low));
}

/** Coefficients of `(1 - r)^n`, lowest power first. */
function binomial(n: number): number[] {
  const row = [1];
  for (let k = 1; k <= n; k++) row.push((-(row[k - 1] ?? 0) * (n - k + 1)) / k);
  return row;
}

/** A common power of 1 - r, one of 1 / r, and a polynomial in r, whose coefficients are positive for k >= 0. */
function wendland(s: RealExpr, l: number, k: number): RealExpr {
  const terms = wendlandTerms(l, k);
  const [power, pole] = [
    Math.min(...terms.map(([, , b]) => b)),
    Math.max(...terms.map(([, a]) => a)),
  ];
  const degree = Math.max(...terms.map(([, a, b]) => b - power + pole - a));
  const coefficients = new Array<number>(degree + 1).fill(0);
  for (const [c, a, b] of terms) {
    binomial(b - power).forEach((factor, at) => {
      const to = at + pole - a;
      coefficients[to] = (coefficients[to] ?? 0) + c * factor;
    });
  }
  const r = sqrt(s);
  const rest = polynomial(coefficients, r);
  const top = times(productPower(sub(1, r), power), rest);
  const value = pole === 0 ? top : select(eq(s, 0), 0, div(top, productPower(r, pole)));
  return select(ge(s, 1), 0, value);
}

/** `(n + k)! / (k! (n - k)! 2^k)` for k = 0 to n (Abramowitz and Stegun 10.2.15). */
function closedForm(n: number): number[] {
  const row = [1];
  for (let k = 1; k <= n; k++) row.push(((row[k - 1] ?? 0) * (n + k) * (n - k + 1)) / (2 * k));
  return row;
}

const isHalfInteger = (nu: number): boolean =>
  Number.isInteger(nu - 0.5) && Math.abs(nu) < MOST_TERMS;

/** `z^nu K_nu(z)` at `z = sqrt(s)`: no power of z is negative for nu > 0. */
function radialHalfInteger(s: RealExpr, nu: number): RealExpr | undefined {
  if (!isHalfInteger(nu)) return undefined;
  const n = Math.abs(nu) - 0.5;
  const z = sqrt(s);
  const decay = mul(ROOT_HALF_PI, exp(neg(z)));
  if (nu > 0) {
    return select(gt(z, FAR), 0, mul(decay, polynomial(closedForm(n).reverse(), z)));
  }
  const y = div(1, z);
  const value = mul(decay, mul(productPower(y, n + 1), polynomial(closedForm(n), y)));
  return select(eq(s, 0), 0, value);
}

/** `K_nu(x)` for nu >= 0. */
function halfInteger(x: RealExpr, nu: number): RealExpr | undefined {
  if (!isHalfInteger(nu)) return undefined;
  const sum = polynomial(closedForm(nu - 0.5), div(1, x));
  return mul(mul(ROOT_HALF_PI, exp(neg(x))), div(sum, sqrt(x)));
}
