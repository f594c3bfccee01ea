import {
  add,
  constant,
  differentiate,
  exp,
  mul,
  simplify,
  type CallNode,
  type Expr,
  type RealExpr,
} from '@mercer/formula/plan';

/**
 * The derivative of an outer expression. Products of a polynomial and a falling exponential, as the
 * Matern kernels are, are differentiated as a whole: (P(t) e^(ct))' = (P' + c P)(t) e^(ct), with the
 * coefficients that cancel left out. Term by term, two numbers of the size of c would be subtracted
 * to give one of the size of t, which loses everything where points are close.
 */
export function outerDerivative(outer: RealExpr, by: string): RealExpr {
  return dampedDerivative(outer, by) ?? differentiate(outer, by);
}

function dampedDerivative(outer: RealExpr, by: string): RealExpr | undefined {
  if (outer.op === 'call' && (outer as CallNode).fn === 'oneAtZero') {
    return outerDerivative((outer as CallNode).args[0] as RealExpr, by);
  }
  if (outer.op !== 'mul') return undefined;
  const factors = outer.args as readonly RealExpr[];
  const exponential = factors.find((factor) => factor.op === 'exp');
  const other = factors.find((factor) => factor !== exponential);
  if (exponential === undefined || other === undefined) return undefined;
  const { factor: rate, rest } = scaled(exponential.args[0] as RealExpr);
  const polynomial = coefficients(other, rest);
  if (polynomial === undefined || polynomial.length < 2) return undefined;
  const slope = polynomial.map((c, i) => {
    const [risen, fallen] = [(i + 1) * (polynomial[i + 1] ?? 0), rate * c];
    return Math.abs(risen + fallen) <= 1e-14 * Math.abs(fallen) ? 0 : risen + fallen;
  });
  const inner = differentiate(rest, by);
  if (inner.value === 0) return constant(0);
  const damped = mul(horner(slope, rest), exp(mul(rate, rest)));
  return simplify(mul(damped, inner));
}

/** `factor * rest` with all constant factors and signs in the factor. */
function scaled(x: RealExpr): { factor: number; rest: RealExpr } {
  if (x.op === 'neg') {
    const inner = scaled(x.args[0] as RealExpr);
    return { factor: -inner.factor, rest: inner.rest };
  }
  const first = x.op === 'mul' ? (x.args[0] as RealExpr).value : undefined;
  if (first === undefined) return { factor: 1, rest: x };
  const inner = scaled(x.args[1] as RealExpr);
  return { factor: first * inner.factor, rest: inner.rest };
}

/** Coefficients of `expr` as a polynomial in the node `t`, lowest power first. */
function coefficients(expr: RealExpr, t: Expr): number[] | undefined {
  if (expr === t) return [0, 1];
  if (expr.value !== undefined) return [expr.value];
  const parts = (expr.args as readonly RealExpr[]).map((arg) => coefficients(arg, t));
  const [a, b] = parts;
  if (a === undefined) return undefined;
  if (expr.op === 'neg') return a.map((c) => -c);
  if (b === undefined) return undefined;
  if (expr.op === 'add' || expr.op === 'sub') {
    const sign = expr.op === 'add' ? 1 : -1;
    const length = Math.max(a.length, b.length);
    return Array.from({ length }, (_, i) => (a[i] ?? 0) + sign * (b[i] ?? 0));
  }
  if (expr.op === 'mul') {
    const product = new Array<number>(a.length + b.length - 1).fill(0);
    a.forEach((x, i) => {
      b.forEach((y, j) => (product[i + j] = (product[i + j] ?? 0) + x * y));
    });
    return product;
  }
  const [divisor] = b;
  return expr.op === 'div' && b.length === 1 && divisor !== undefined
    ? a.map((c) => c / divisor)
    : undefined;
}

/** The polynomial in t, leading zeros left out, so that a common factor t stays a factor. */
function horner(slope: readonly number[], t: RealExpr): RealExpr {
  const lowest = slope.findIndex((c) => c !== 0);
  if (lowest < 0) return constant(0);
  let value: RealExpr | undefined;
  for (const c of slope.slice(lowest).reverse()) {
    value = value === undefined ? constant(c) : add(c, mul(value, t));
  }
  for (let i = 0; i < lowest; i++) value = mul(t, value ?? constant(0));
  return value ?? constant(0);
}
