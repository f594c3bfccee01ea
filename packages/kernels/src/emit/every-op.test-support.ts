import {
  abs,
  add,
  build,
  div,
  evaluate,
  exp,
  ge,
  gt,
  isApplyOp,
  log,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  OPS,
  postOrder,
  pow,
  print,
  rsqrt,
  select,
  sign,
  SIGNATURES,
  simplify,
  sqrt,
  sub,
  tanh,
  variable,
  variables,
  type Expr,
  type Op,
  type RealExpr,
} from '@mercer/formula/plan';
import type { PairwiseDType } from '../dtype.js';
import { exactTanh } from './exact-tanh.test-support.js';

const [a, b, p, q] = ['a', 'b', 'p', 'q'].map(variable) as [RealExpr, RealExpr, RealExpr, RealExpr];
const d = sub(a, b);

/** Values of the launch scalars p and q. */
export const SCALARS = { p: 1.75, q: -0.3 } as const;

/** Every operation on variables; comparisons inside a selection. */
const EVERY_OP: readonly RealExpr[] = OPS.filter(isApplyOp).map((op) => {
  const args = op === 'select' ? [lt(a, b), a, b] : [a, b].slice(0, SIGNATURES[op].args.length);
  const node = build(op, args);
  return node.type === 'bool' ? select(node, 1, 0) : node;
});

const QUARTERS = [0.25, 0.75, 1.25, 2.75, 3.75, -0.25, -1.75];

/** Expressions that are emitted in both dialects and compared with `evaluate`. */
const EXPRESSIONS: readonly RealExpr[] = [
  ...EVERY_OP,
  pow(abs(a), b),
  pow(abs(d), 1.3),
  pow(abs(d), 0.1),
  pow(abs(a), -2.7),
  exp(neg(mul(d, d))),
  log(abs(d)),
  sqrt(abs(a)),
  rsqrt(abs(a)),
  ...QUARTERS.map((c) => simplify(pow(abs(a), c))),
  // a selection inside and around others, with a NaN in the branch that is not taken
  select(lt(abs(a), 1), select(ge(a, b), a, neg(b)), select(ne(b, b), 2, sqrt(a))),
  select(gt(a, 0), log(a), tanh(a)),
];

/** Expressions with uniform parts: what depends on p and q alone is computed in double precision. */
const UNIFORM: readonly RealExpr[] = [
  pow(abs(a), sub(p, 1)),
  pow(abs(a), p),
  mul(a, exp(mul(p, q))),
  mul(a, tanh(p)),
  mul(a, log(add(p, 1))),
  mul(a, pow(p, q)),
  mul(a, rsqrt(p)),
  mul(a, sqrt(div(p, 3))),
  mul(a, abs(mul(sign(q), neg(p)))),
  max(a, min(p, q)),
  min(a, max(p, q)),
  select(lt(p, 2), a, b),
  select(gt(p, 2), a, b),
  select(lt(a, q), p, select(ne(q, q), 3, b)),
  mul(a, select(ge(q, p), 3, add(mul(p, p), mul(p, p)))),
];

/** Everything that is compared, in the order of the results. */
export const ALL: readonly RealExpr[] = [...EXPRESSIONS, ...UNIFORM];

/** The operations that do not occur; functions have a comparison of their own. */
export function missingOps(): Op[] {
  const met = new Set<Op>(ALL.flatMap((e) => postOrder(e).map(({ op }) => op)));
  return OPS.filter((op) => !met.has(op) && op !== 'call');
}

const SPECIAL = [0, -0, 1, -1, 2, -2, 0.5, 3, -3, 4, 7.25, Infinity, -Infinity, NaN, 1e-30, 1e30];

/** Pairs of special values, random values of all sizes, and values near 1 and where tanh changes form. */
function inputs(dtype: PairwiseDType): { x: number[]; y: number[] } {
  const x: number[] = [];
  const y: number[] = [];
  let state = 12345;
  const random = (): number => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const tiny =
    dtype === 'float32' ? [1e-45, 1e-40, 1.17549435e-38, 3.4e38] : [1e-310, 2.3e-308, 1.7e308];
  for (const first of [...SPECIAL, ...tiny]) {
    for (const second of [...SPECIAL, ...tiny]) {
      x.push(first);
      y.push(second);
    }
  }
  while (x.length % 16 !== 0 || x.length < 6144) {
    const scale = 2 ** (random() * 40 - 20);
    x.push(random() < 0.5 ? 1 + (random() - 0.5) / 8 : (random() - 0.3) * scale);
    y.push((random() - 0.5) * 12);
  }
  while (x.length < 8192) {
    x.push((random() - 0.5) * 2 ** (random() * 8 - 3));
    y.push(0.5 + (random() - 0.5) / 4);
  }
  const rounded = (values: number[]): number[] =>
    dtype === 'float32' ? values.map(Math.fround) : values;
  return { x: rounded(x), y: rounded(y) };
}

/** The published bound of an expression at a point, in units of u. */
function allowance(expr: RealExpr, point: Readonly<Record<string, number>>, unit: number): number {
  const exponentOf = (node: RealExpr): number => {
    const [base, exponent] = node.args as readonly [RealExpr, RealExpr];
    return Math.abs(Math.log2(Math.abs(evaluate(base, point))) * evaluate(exponent, point));
  };
  // The difference itself is rounded once before it is raised or exponentiated.
  const variablesAreRounded = variables(expr).length > 0 && /a - b/.test(print(expr));
  if (expr.op === 'pow') return 6 + 1.5 * exponentOf(expr) + (variablesAreRounded ? 3 : 0);
  if (expr.op === 'exp') {
    const s = Math.abs(evaluate(expr.args[0] as RealExpr, point));
    return 4 + (variablesAreRounded ? 5 : 2) * s;
  }
  if (expr.op === 'log') return 4 + (variablesAreRounded ? 1 / Math.abs(evaluate(expr, point)) : 0);
  if (expr.op === 'tanh') return 6;
  if (QUARTER_POWERS.has(expr)) return 6;
  // A uniform factor is rounded once to the data type.
  if (UNIFORM.includes(expr)) return 6;
  if (expr.op === 'select') return 6;
  if (unit === 2 ** -53) return 0;
  return expr.op === 'rsqrt' ? 2 : 1;
}

const QUARTER_POWERS: ReadonlySet<Expr> = new Set(QUARTERS.map((c) => simplify(pow(abs(a), c))));

/** What the tests of a dialect may relax, because the dialect says so. */
export interface Relaxed {
  /** Roots within so many u more. */
  readonly roots?: number;
  /** What may take a denormal value as it likes: powers with a positive exponent, or roots as well. */
  readonly denormals?: 'powers' | 'roots';
}

/** The inputs of a data type, and for every expression the true values and how far off is allowed. */
export interface Expected {
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly exact: readonly Float64Array[];
  /** In units of u; negative where nothing is compared. */
  readonly units: readonly Float64Array[];
}

const known = new Map<PairwiseDType, Expected>();

/** Computed once: evaluating takes longer than running what was emitted. */
export function expected(dtype: PairwiseDType): Expected {
  const old = known.get(dtype);
  if (old !== undefined) return old;
  const { x, y } = inputs(dtype);
  const unit = unitOf(dtype);
  const points = x.map((at, i) => ({ a: at, b: y[i] as number, ...SCALARS }));
  const made = {
    x,
    y,
    exact: ALL.map((expr) =>
      Float64Array.from(points, (point) =>
        expr.op === 'tanh' ? exactTanh(point.a) : evaluate(expr, point),
      ),
    ),
    units: ALL.map((expr) =>
      // The evaluator has 1 ^ nan = 1; powers of a non-negative base give nan there.
      Float64Array.from(points, (point) =>
        expr.op === 'pow' && Number.isNaN(point.b) && Math.abs(point.a) === 1
          ? -1
          : allowance(expr, point, unit),
      ),
    ),
  };
  known.set(dtype, made);
  return made;
}

const unitOf = (dtype: PairwiseDType): number => (dtype === 'float32' ? 2 ** -24 : 2 ** -53);

const isPowerOfKnownSign = ({ op, args }: Expr): boolean =>
  op === 'pow' && !variables(args[1] as Expr).includes('b');

/** Compares results, one row of values per expression of {@link ALL}; gives what is wrong. */
export function compare(
  dtype: PairwiseDType,
  out: { readonly [index: number]: number },
  relaxed: Relaxed = {},
): string[] {
  const { x, y, exact, units } = expected(dtype);
  const unit = unitOf(dtype);
  const [smallest, largest] =
    dtype === 'float32' ? [2 ** -126, 3.4028235677973366e38] : [2 ** -1022, Infinity];
  const isDenormal = (value: number): boolean => value !== 0 && Math.abs(value) < smallest;
  const wrong: string[] = [];
  ALL.forEach((expr, e) => {
    const hasRoot = postOrder(expr).some(({ op }) => op === 'sqrt' || op === 'rsqrt');
    const hasPower = postOrder(expr).some(isPowerOfKnownSign);
    const flushes =
      relaxed.denormals !== undefined && (hasPower || (hasRoot && relaxed.denormals === 'roots'));
    x.forEach((ax, i) => {
      const allowed = units[e]?.[i] ?? NaN;
      if (allowed === -1) return;
      if (flushes && (isDenormal(ax) || isDenormal(ax - (y[i] as number)))) return;
      const value = exact[e]?.[i] ?? NaN;
      const wanted = Math.abs(value) >= largest ? Math.sign(value) * Infinity : value;
      const got = out[e * x.length + i] as number;
      const error = Math.abs(got - wanted);
      const bound =
        (allowed + (hasRoot ? (relaxed.roots ?? 0) : 0)) * unit * Math.abs(wanted) +
        smallest * 2 * unit;
      // Zeros are compared without their sign, which is not part of a value.
      const same = Object.is(got + 0, wanted + 0) || error <= bound;
      // Where the true value is at an edge of the range a rounding may decide.
      const edge =
        (Math.abs(value) > largest * (1 - 2 ** -16) && Math.abs(got) > largest * (1 - 2 ** -16)) ||
        (Math.abs(value) < smallest && Math.abs(got) <= smallest && expr.op !== 'abs');
      if (!same && !edge) {
        wrong.push(`${print(expr)} at ${ax}, ${y[i]}: ${got}, not ${wanted}`);
      }
    });
  });
  return wrong;
}
