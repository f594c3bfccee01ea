/**
 * What formulas in KeOps' language mean, by plain loops over their text: nothing of the package's parser, simplification and evaluator is
 * used. One infix operation in each pair of brackets; no derivatives.
 */

type Vector = readonly number[];

type Values = Readonly<Record<string, Vector>>;

/** A number that a text means, and what roundings of its computation are relative to. */
export interface Meant {
  readonly value: number;
  /** The sum of the absolute values of the terms that are added last; of what adds none, that of the value. */
  readonly size: number;
}

/** The meaning of a text for vectors by name. */
export function meaningOf(text: string, values: Values): readonly Meant[] {
  const sizes = sizesOf(text.trim(), values);
  return read(text.trim(), values).map((value, c) => ({
    value,
    size: sizes?.[c] ?? Math.abs(value),
  }));
}

/** Of the operations whose terms have signs. */
function sizesOf(text: string, values: Values): Vector | undefined {
  const name = /^(\w+)\(.*\)$/.exec(text)?.[1] ?? '';
  if (!SUMS.includes(name) && split(text, ' | ').length === 1) return undefined;
  const absolute = Object.entries(values).map(([key, of]) => [key, of.map(Math.abs)] as const);
  return read(text, Object.fromEntries(absolute));
}

function read(text: string, values: Values): Vector {
  for (const [sign, of] of INFIX) {
    const parts = split(text, ` ${sign} `);
    if (parts.length < 2) continue;
    const [x, y] = parts.map((part) => read(part.trim(), values));
    return together(x!, y!, of);
  }
  const call = /^(\w+)\((.*)\)$/.exec(text);
  if (call) {
    const of = FUNCTIONS[call[1] ?? ''];
    if (of === undefined) throw new RangeError(`no meaning of ${text}`);
    return of(...argumentsOf(text).map((arg) => read(arg, values)));
  }
  const inner = /^\((.*)\)$/.exec(text);
  if (inner) return read(inner[1] ?? '', values);
  const list = /^\[(.*)\]$/.exec(text);
  if (list) return (list[1] ?? '').split(',').map(Number);
  return values[text] ?? [Number(text)];
}

const argumentsOf = (call: string): string[] =>
  split(call.slice(call.indexOf('(') + 1, -1), ',').map((part) => part.trim());

/** The parts between separators outside of brackets. */
function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    if ('(['.includes(text[at] ?? ' ')) depth++;
    if (')]'.includes(text[at] ?? ' ')) depth--;
    if (depth > 0 || !text.startsWith(separator, at)) continue;
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  return [...parts, text.slice(from)];
}

type Binary = (x: number, y: number) => number;

/** Component by component; one component goes with all. */
function together(x: Vector, y: Vector, of: Binary | 'dot'): Vector {
  const count = Math.max(x.length, y.length);
  const at = (v: Vector, c: number): number => v[v.length === 1 ? 0 : c] ?? NaN;
  const each = (one: Binary): number[] =>
    Array.from({ length: count }, (_, c) => one(at(x, c), at(y, c)));
  return of === 'dot' ? [total(each((p, q) => p * q))] : each(of);
}

const total = (x: Vector): number => x.reduce((sum, one) => sum + one, 0);
const truth =
  (of: (x: number, y: number) => boolean): Binary =>
  (x, y) =>
    of(x, y) ? 1 : 0;

const INFIX: readonly (readonly [sign: string, of: Binary | 'dot'])[] = [
  ['|', 'dot'],
  ['==', truth((x, y) => x === y)],
  ['!=', truth((x, y) => x !== y)],
  ['<=', truth((x, y) => x <= y)],
  ['>=', truth((x, y) => x >= y)],
  ['<', truth((x, y) => x < y)],
  ['>', truth((x, y) => x > y)],
  ['+', (x, y) => x + y],
  ['-', (x, y) => x - y],
  ['**', (x, y) => x ** y],
  ['*', (x, y) => x * y],
  ['/', (x, y) => x / y],
];

const each =
  (of: (x: number) => number) =>
  (x: Vector): Vector =>
    x.map(of);
const pairs =
  (of: Binary) =>
  (x: Vector, y: Vector): Vector =>
    together(x, y, of);

/** The sum of terms, the last ones first, which are the smallest. */
function series(from: number, count: number, term: (n: number) => number): number {
  let sum = 0;
  for (let n = from + count - 1; n >= from; n--) sum += term(n);
  return sum;
}
const factorial = (n: number): number => (n <= 1 ? 1 : n * factorial(n - 1));

/** 2 / sqrt(pi) times the Taylor series, for small x. */
const erf = (x: number): number => {
  let [term, sum] = [x, x];
  for (let n = 1; n < 60; n++) {
    term *= -(x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
};

/** The sum of n^-k from n = 2 on: 40 terms, and Euler and Maclaurin's rest. */
function zetaWithoutFirst(k: number): number {
  const far = 42;
  const third = k * (k + 1) * (k + 2);
  const rest =
    far / (k - 1) +
    1 / 2 +
    k / (12 * far) -
    third / (720 * far ** 3) +
    (third * (k + 3) * (k + 4)) / (30240 * far ** 5);
  return series(2, 40, (n) => n ** -k) + rest * far ** -k;
}

/** The powers of x in log(gamma(1 + x)) + log(1 + x), for x from 0 to 1. */
const LOG_GAMMA: readonly number[] = [
  0,
  1 - 0.5772156649015329,
  ...Array.from({ length: 58 }, (_, n) => ((-1) ** n * zetaWithoutFirst(n + 2)) / (n + 2)),
];

const lgamma = (x: number): number =>
  series(1, 59, (k) => LOG_GAMMA[k]! * x ** k) - Math.log1p(x) - Math.log(x);

/** The sum of 1 / (x + n)^2: 500 terms, and Euler and Maclaurin's rest. */
function trigamma(x: number): number {
  const far = x + 500;
  const rest = 1 / far + 1 / (2 * far ** 2) + 1 / (6 * far ** 3) - 1 / (30 * far ** 5);
  return rest + series(0, 500, (n) => 1 / (x + n) ** 2);
}

const besselJ2 = (x: number): number => {
  let sum = 0;
  for (let n = 0; n < 30; n++) {
    sum += ((-1) ** n / (factorial(n) * factorial(n + 2))) * (x / 2) ** (2 * n + 2);
  }
  return sum;
};

/** The smallest soft cost of all ways through the squared differences. */
function softDtw(x: Vector, y: Vector, gamma: number): number {
  const cost: number[][] = Array.from({ length: x.length + 1 }, () =>
    new Array<number>(y.length + 1).fill(Infinity),
  );
  cost[0]![0] = 0;
  for (let i = 1; i <= x.length; i++) {
    for (let j = 1; j <= y.length; j++) {
      const before = [cost[i - 1]![j - 1]!, cost[i - 1]![j]!, cost[i]![j - 1]!];
      const least = Math.min(...before);
      const soft =
        least - gamma * Math.log(total(before.map((b) => Math.exp((least - b) / gamma))));
      cost[i]![j] = (x[i - 1]! - y[j - 1]!) ** 2 + soft;
    }
  }
  return cost[x.length]![y.length]!;
}

/** The B-splines of a degree at a number, by Cox and de Boor's recurrence. */
function splines(knots: Vector, x: number, degree: number): Vector {
  let level: number[] = knots.slice(1).map((next, k) => (x >= knots[k]! && x < next ? 1 : 0));
  for (let d = 1; d <= degree; d++) {
    level = level.slice(1).map((right, k) => {
      const left = ((x - knots[k]!) / (knots[k + d]! - knots[k]!)) * level[k]!;
      return left + ((knots[k + d + 1]! - x) / (knots[k + d + 1]! - knots[k + 1]!)) * right;
    });
  }
  return level;
}

const extreme =
  (of: (...x: number[]) => number, index: boolean) =>
  (x: Vector): Vector => [index ? x.indexOf(of(...x)) : of(...x)];
const norm = (x: Vector): number => Math.sqrt(total(x.map((one) => one ** 2)));
const one = (x: Vector | undefined): number => x?.[0] ?? NaN;

const FUNCTIONS: Readonly<Record<string, (...args: readonly Vector[]) => Vector>> =
  Object.fromEntries(
    Object.entries({
      Minus: each((x) => -x),
      Abs: each(Math.abs),
      Exp: each(Math.exp),
      Log: each(Math.log),
      XLogX: each((x) => x * Math.log(x)),
      Log1p: each(Math.log1p),
      Expm1: each(Math.expm1),
      Square: each((x) => x * x),
      Inv: each((x) => 1 / x),
      Sqrt: each(Math.sqrt),
      Rsqrt: each((x) => 1 / Math.sqrt(x)),
      Sin: each(Math.sin),
      Cos: each(Math.cos),
      Tan: each(Math.tan),
      Asin: each(Math.asin),
      Acos: each(Math.acos),
      Atan: each(Math.atan),
      Sinh: each(Math.sinh),
      Cosh: each(Math.cosh),
      Tanh: each(Math.tanh),
      Sinc: each((x) => Math.sin(Math.PI * x) / (Math.PI * x)),
      SinXDivX: each((x) => Math.sin(x) / x),
      Sign: each(Math.sign),
      Step: each((x) => (x < 0 ? 0 : 1)),
      ReLU: each((x) => (x < 0 ? 0 : x)),
      Floor: each(Math.floor),
      Ceil: each(Math.ceil),
      Logistic: each((x) => 1 / (1 + Math.exp(-x))),
      Softplus: each((x) => Math.log(1 + Math.exp(x))),
      Erf: each(erf),
      Erfc: each((x) => 1 - erf(x)),
      Lgamma: each(lgamma),
      Round: (x: Vector, digits?: Vector) =>
        x.map((value) => Math.round(value * 10 ** (digits?.[0] ?? 0)) / 10 ** (digits?.[0] ?? 0)),
      Polygamma: (x: Vector) => x.map(trigamma),
      BesselJ: (x: Vector) => x.map(besselJ2),
      BesselK: (x: Vector) => x.map((z) => Math.sqrt(Math.PI / (2 * z)) * Math.exp(-z)),
      Minimum: pairs(Math.min),
      Maximum: pairs(Math.max),
      Atan2: pairs(Math.atan2),
      LogAddExp: pairs((x, y) => Math.log(Math.exp(x) + Math.exp(y))),
      Powf: pairs((x, y) => x ** y),
      Mod: (x: Vector, modulus: Vector, offset?: Vector) =>
        together(x, modulus, (v, m) => v - m * Math.floor((v - (offset?.[0] ?? 0)) / m)),
      // the lower bound first, also where it is above the upper one
      Clamp: (x: Vector, low: Vector, high: Vector) =>
        x.map((v, c) => (v < low[c]! ? low[c]! : Math.min(v, one(high)))),
      IfElse: (x: Vector, a: Vector, b: Vector) => x.map((v, c) => (v >= 0 ? a[c]! : b[c]!)),
      Where: (x: Vector, a: Vector, b: Vector) =>
        x.map((v, c) => (v !== 0 ? (a[c] ?? one(a)) : b[c]!)),
      Sum: (x: Vector) => [total(x)],
      Min: extreme(Math.min, false),
      Max: extreme(Math.max, false),
      ArgMin: extreme(Math.min, true),
      ArgMax: extreme(Math.max, true),
      SqNorm2: (x: Vector) => [norm(x) ** 2],
      Norm2: (x: Vector) => [norm(x)],
      Normalize: (x: Vector) => x.map((v) => v / norm(x)),
      SqDist: (x: Vector, y: Vector) => [norm(together(x, y, (p, q) => p - q)) ** 2],
      WeightedSqNorm: (p: Vector, x: Vector) => [total(x.map((v, c) => p[c]! * v * v))],
      SymSqNorm: (m: Vector, x: Vector) => [
        total(x.flatMap((v, i) => x.map((w, j) => v * m[i * x.length + j]! * w))),
      ],
      WeightedSqDist: (s: Vector, x: Vector, y: Vector) => [
        one(s) * norm(together(x, y, (p, q) => p - q)) ** 2,
      ],
      SoftDTW_SqDist: (x: Vector, y: Vector, gamma: Vector) => [softDtw(x, y, one(gamma))],
      // of the case: a table of one row
      Gather: (row: Vector, at: Vector) => (one(at) === 0 ? row : row.map(() => 0)),
      Elem: (x: Vector, at: Vector) => [x[one(at)]!],
      Extract: (x: Vector, at: Vector, count: Vector) => x.slice(one(at), one(at) + one(count)),
      ElemT: (x: Vector, count: Vector, at: Vector) =>
        Array.from({ length: one(count) }, (_, c) => (c === one(at) ? one(x) : 0)),
      ExtractT: (x: Vector, at: Vector, count: Vector) =>
        Array.from({ length: one(count) }, (_, c) => x[c - one(at)] ?? 0),
      SumT: (x: Vector, count: Vector) => Array.from({ length: one(count) }, () => one(x)),
      OneHot: (x: Vector, count: Vector) =>
        Array.from({ length: one(count) }, (_, c) => (c === Math.floor(one(x) + 0.5) ? 1 : 0)),
      Concat: (...parts: Vector[]) => parts.flat(),
      BSpline: (knots: Vector, x: Vector, degree: Vector) => splines(knots, one(x), one(degree)),
      MatVecMult: (m: Vector, x: Vector) =>
        x.map((_, i) => total(x.map((v, j) => m[i * x.length + j]! * v))),
      VecMatMult: (x: Vector, m: Vector) =>
        x.map((_, j) => total(x.map((v, i) => v * m[i * x.length + j]!))),
      TensorProd: (x: Vector, y: Vector) => x.flatMap((v) => y.map((w) => v * w)),
      // of the case: a matrix with a vector over the first axis
      TensorDot: (m: Vector, x: Vector) =>
        x.map((_, k) => total(x.map((v, i) => m[i * x.length + k]! * v))),
      // of the case: a column with a row
      Kron: (x: Vector, y: Vector) => x.flatMap((v) => y.map((w) => v * w)),
    }) as [string, (...args: readonly Vector[]) => Vector][],
  );

/** Sums of products, whose size is the sum over absolute values. */
const SUMS: readonly string[] = [
  'Sum',
  'WeightedSqNorm',
  'SymSqNorm',
  'MatVecMult',
  'VecMatMult',
  'TensorDot',
];
