import { applyRule, OPS, postOrder, type Expr, type RuleTable } from '@mercer/formula/plan';

/** A value with what rounding may have made of it; NaN where nothing can be said. */
export interface Bounded {
  readonly value: number;
  readonly error: number;
}

const UNKNOWN: Bounded = { value: NaN, error: NaN };
/** For operations of which this says nothing. */
const NOTHING = Object.fromEntries(
  OPS.map((op) => [op, () => UNKNOWN]),
) as unknown as RuleTable<Bounded>;

/**
 * An expression in float64 with a bound on how far off the same is where every operation rounds to `unit`. Unknown
 * where a choice hangs on rounding, and where a value leaves the range in which the bound holds.
 */
export function boundedEvaluate(
  expr: Expr,
  bindings: Readonly<Record<string, number>>,
  unit: number,
): Bounded {
  const rules = ruleTable(bindings, unit);
  const known = new Map<Expr, Bounded>();
  for (const node of postOrder(expr)) {
    const args = node.args.map((arg) => known.get(arg) ?? UNKNOWN);
    const result = applyRule(rules, node, args);
    const fits = Math.abs(result.value) < 1e30 && result.error < 1e30;
    known.set(node, fits ? result : UNKNOWN);
  }
  return known.get(expr) ?? UNKNOWN;
}

function ruleTable(bindings: Readonly<Record<string, number>>, unit: number): RuleTable<Bounded> {
  // below the normal range of float32 results have absolute errors
  const rounded = (value: number, error: number, units = 1): Bounded => ({
    value,
    error: error * (1 + units * unit) + units * unit * Math.abs(value) + 1e-38,
  });
  /** A monotonic function, its bound from both ends of what the argument may be. */
  const monotonic =
    (f: (x: number) => number, units: number) =>
    ([x]: readonly [Bounded]): Bounded => {
      const value = f(x.value);
      const ends = [f(x.value - x.error), f(x.value + x.error)];
      return rounded(value, Math.max(...ends.map((end) => Math.abs(end - value))), units);
    };
  const either = (a: Bounded, b: Bounded, value: number): Bounded => ({
    value,
    error: Math.max(a.error, b.error),
  });
  const comparison =
    (holds: (x: number) => boolean) =>
    ([a, b]: readonly [Bounded, Bounded]): Bounded => {
      const difference = a.value - b.value;
      const error = a.error + b.error;
      if (error > 0 && !(Math.abs(difference) > error)) return UNKNOWN;
      return { value: holds(difference) ? 1 : 0, error: 0 };
    };
  const known: Partial<RuleTable<Bounded>> = {
    const: (_, { value }) => rounded(value, 0),
    var: (_, { name }) => {
      const value = bindings[name] ?? NaN;
      return { value, error: unit > 2 ** -30 ? Math.abs(value - Math.fround(value)) : 0 };
    },
    add: ([a, b]) => rounded(a.value + b.value, a.error + b.error),
    sub: ([a, b]) => rounded(a.value - b.value, a.error + b.error),
    mul: ([a, b]) =>
      rounded(
        a.value * b.value,
        Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error,
      ),
    div: ([a, b]) => {
      const least = Math.abs(b.value) - b.error;
      if (!(least > 0)) return UNKNOWN;
      const value = a.value / b.value;
      return rounded(value, (a.error + Math.abs(value) * b.error) / least);
    },
    neg: ([x]) => ({ value: -x.value, error: x.error }),
    abs: ([x]) => ({ value: Math.abs(x.value), error: x.error }),
    sign: ([x]) =>
      Math.abs(x.value) > x.error || x.error === 0
        ? { value: Math.sign(x.value), error: 0 }
        : UNKNOWN,
    sqrt: monotonic(Math.sqrt, 1),
    rsqrt: ([x]) =>
      x.value - x.error > 1e-20 ? monotonic((v) => 1 / Math.sqrt(v), 3)([x]) : UNKNOWN,
    pow: ([base, exponent]) => {
      if (!(base.value - base.error > 0)) return UNKNOWN;
      const value = base.value ** exponent.value;
      const slope = Math.abs(exponent.value) * (base.error / (base.value - base.error));
      const steep = Math.abs(Math.log(base.value)) * exponent.error;
      const units = 8 + 3 * Math.abs(exponent.value * Math.log2(base.value));
      return slope + steep < 0.5
        ? rounded(value, 2 * Math.abs(value) * (slope + steep), units)
        : UNKNOWN;
    },
    exp: (args) => monotonic(Math.exp, 6 + 3 * Math.abs(args[0].value))(args),
    log: ([x]) => (x.value - x.error > 0 ? monotonic(Math.log, 6)([x]) : UNKNOWN),
    tanh: monotonic(Math.tanh, 8),
    min: ([a, b]) => either(a, b, Math.min(a.value, b.value)),
    max: ([a, b]) => either(a, b, Math.max(a.value, b.value)),
    lt: comparison((d) => d < 0),
    le: comparison((d) => d <= 0),
    gt: comparison((d) => d > 0),
    ge: comparison((d) => d >= 0),
    eq: comparison((d) => d === 0),
    ne: comparison((d) => d !== 0),
    select: ([condition, a, b]) =>
      condition.value === 1 ? a : condition.value === 0 ? b : UNKNOWN,
  };
  return { ...NOTHING, ...known };
}
