import {
  abs,
  add,
  div,
  eq,
  exp,
  gt,
  log,
  lt,
  mul,
  neg,
  pow,
  select,
  sqrt,
  sub,
  tanh,
  variable,
  type RealExpr,
} from '@mercer/formula';

/** The exponent of the formulas here. */
const power = variable('power');

/** sinh x, without what e^x - e^-x cancels. */
const sinh = (x: RealExpr): RealExpr => mul(mul(0.5, tanh(x)), add(exp(x), exp(neg(x))));

/**
 * The divided difference (a^p - b^p) / (a - b) times m. Near the diagonal it cancels; with a = c e^h and b = c e^-h it is
 * c^(p-1) sinh(p h) / sinh(h), in which an error of h counts for little. On the diagonal it is the derivative, and at 0,
 * where a power below 1 has none, 0.
 *
 * @param middle the number between a and b at which that derivative is taken
 */
export function dividedDifference(a: RealExpr, b: RealExpr, middle: RealExpr): RealExpr {
  const h = mul(0.5, log(div(a, b)));
  const near = mul(pow(mul(sqrt(a), sqrt(b)), sub(power, 1)), div(sinh(mul(power, h)), sinh(h)));
  const far = div(sub(pow(a, power), pow(b, power)), sub(a, b));
  const atZero = select(eq(power, 1), 1, 0);
  const equal = select(gt(a, 0), mul(power, pow(middle, sub(power, 1))), atZero);
  return mul(variable('m'), select(eq(a, b), equal, select(lt(abs(h), 0.5), near, far)));
}
