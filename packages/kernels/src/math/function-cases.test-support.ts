import {
  arityOf,
  call,
  evaluate,
  variable,
  variables,
  type MathOp,
  type RealExpr,
} from '@mercer/formula';
import type { PairwiseDType } from '../dtype.js';
import { ELEMENTARY_VALUES } from './elementary-values.test-support.js';
import { SPECIAL_VALUES } from './special-values.test-support.js';

/** How far off a function may be, in u, of a size that is the value's unless `size` says another. */
export interface FunctionCase {
  readonly fn: MathOp;
  readonly attributes: readonly number[];
  /** Where the text computes in double precision. */
  readonly float64: number;
  /** Where it computes in float32, or by a function of the CUDA compiler; else float32 is rounded once. */
  readonly float32?: number;
  readonly cuda?: readonly [float32: number, float64: number];
  readonly size?: (x: number, value: number) => number;
  /** Where an intermediate result is below the normal range, or the argument outside the domain. */
  readonly vague?: (x: number, smallest: number) => boolean;
  /** How far off the float64 evaluator may be, in 2^-53 of the size; it is no oracle for less. */
  readonly evaluator: number;
}

const [a, b] = [variable('a'), variable('b')];
const valueOf = (fn: MathOp, x: number, attributes: readonly number[]): number =>
  evaluate(call(fn, [a], attributes), { a: x });

type Rest = Omit<FunctionCase, 'fn' | 'attributes'>;
const plain = (
  fn: MathOp,
  float64: number,
  cuda: readonly [number, number],
  evaluator = 2,
): FunctionCase => ({ fn, attributes: [], float64, cuda, evaluator });
const orders = (
  fn: MathOp,
  all: readonly (readonly number[])[],
  rest: (attributes: readonly number[]) => Rest,
): FunctionCase[] => all.map((attributes) => ({ fn, attributes, ...rest(attributes) }));

const isHalf = (nu: number): boolean => Number.isInteger(nu - 0.5);
const logSize = (x: number): number => Math.abs(Math.log2(Math.abs(x)));

/** The published bounds, with orders of all kinds. */
export const FUNCTION_CASES: readonly FunctionCase[] = [
  plain('sin', 2, [4, 4]),
  plain('cos', 2, [4, 4]),
  plain('tan', 4, [8, 4]),
  plain('asin', 3, [8, 4]),
  plain('acos', 3, [8, 4]),
  plain('atan', 3, [4, 4]),
  plain('atan2', 3, [6, 4]),
  plain('sinh', 4, [6, 4]),
  plain('cosh', 4, [4, 4]),
  plain('erf', 2, [6, 4], 20),
  plain('erfc', 5, [12, 10], 40),
  plain('log1p', 2, [4, 4]),
  plain('expm1', 3, [4, 4]),
  plain('softplus', 4, [8, 8], 8),
  {
    fn: 'lgamma',
    attributes: [],
    float64: 6,
    evaluator: 200,
    // below 0 there are zeros between the poles
    size: (x, value) => Math.abs(value) + (x < 0 ? 1 + valueOf('lgamma', 1 - x, []) : 0),
  },
  ...orders('polygamma', [[0], [1], [3], [8], [20]], ([n = 0]) => ({
    float64: 8 + 3 * n,
    evaluator: 1e4,
    size: (x, value) =>
      Math.abs(value) +
      (n === 0 ? 1 : 0) +
      (x < 0 ? Math.abs(valueOf('polygamma', 1 - x, [n])) : 0),
    vague: (x, smallest) => Math.abs(x) ** -(n + 1) < smallest * 2 ** 60,
  })),
  ...orders('floor', [[]], () => ({ float64: 0, float32: 0, evaluator: 0 })),
  ...orders('ceil', [[]], () => ({ float64: 0, float32: 0, evaluator: 0 })),
  ...orders('round', [[0], [2], [-1], [-20]], () => ({ float64: 0, evaluator: 0 })),
  ...orders('sinXDivX', [[0], [1], [2], [5], [12]], ([n = 0]) => ({
    float64: 3 + n / 2,
    evaluator: 1e4,
    size: (_, value) => (n === 0 ? Math.abs(value) : Math.max(1 / (n + 1), Math.abs(value)) + 0.5),
  })),
  ...orders('besselJ', [[0], [1], [2], [-3], [10], [24]], ([n = 0]) => ({
    float64: 32,
    evaluator: 1e4,
    size: (x, value) =>
      Math.max(Math.abs(value), Math.abs(x) > Math.abs(n) ? Math.min(1, Math.abs(x) ** -0.5) : 0),
  })),
  ...orders('besselK', [[0], [1], [0.3], [-2.7], [5], [2.5]], ([nu = 0]) => ({
    float64: 12,
    evaluator: 1e3,
    ...(isHalf(nu) ? { float32: 12 } : {}),
    size: (x, value) => Math.abs(value) * (1 + (x + logSize(x)) / 6),
    vague: (x, smallest) => isHalf(nu) && Math.exp(-x) < smallest,
  })),
  ...orders('radialBesselK', [[0], [0.8], [2], [-1.2], [3.4], [2.5], [-1.5]], ([nu = 0]) => ({
    float64: 12,
    evaluator: 1e3,
    ...(isHalf(nu) ? { float32: 12 } : {}),
    size: (s, value) => Math.abs(value) * (1 + (Math.sqrt(s) + logSize(s)) / 6),
    vague: (s, smallest) => isHalf(nu) && Math.exp(-Math.sqrt(s)) < smallest,
  })),
  ...orders(
    'radialWendland',
    [
      [3, 1],
      [4, 2],
      [6, 3],
      [3, -1],
      [2, 0],
    ],
    ([l = 0, k = 0]) => ({
      float64: 8,
      float32: 8,
      evaluator: 1e4,
      size: (s, value) => {
        const r = Math.sqrt(s);
        return r < 1 ? Math.abs(value) * (1 + ((l + k) * r) / (1 - r)) : 0;
      },
    }),
  ),
  ...orders('radialPower', [[1.5], [2], [-0.7], [0], [-3]], ([q = 0]) => ({
    float64: 6,
    float32: 6,
    evaluator: 2,
    size: (s, value) => Math.abs(value) * (1 + (isHalf(q) ? 0 : Math.abs(q) * logSize(s)) / 4),
    vague: (s, smallest) => s === -Infinity || Math.abs(s) ** q < smallest,
  })),
  ...orders('radialLog', [[2], [0.5], [0]], ([q = 0]) => ({
    float64: 8,
    float32: 8,
    evaluator: 2,
    size: (s, value) => Math.abs(value) * (1 + (Math.abs(q) * logSize(s)) / 4),
    vague: (s, smallest) => s === -Infinity || Math.abs(s) ** q < smallest,
  })),
  ...orders('oneAtZero', [[]], () => ({ float64: 0, float32: 0, evaluator: 0 })),
];

/** The cases as expressions of a, and of b for the second argument. */
export const FUNCTION_EXPRESSIONS: readonly RealExpr[] = FUNCTION_CASES.map(({ fn, attributes }) =>
  call(fn, arityOf(fn)[0] === 2 ? [a, b] : [a], attributes),
);

/** A case at an argument: the value, and how far it is known. */
interface Wanted {
  readonly value: number;
  /** In 2^-53 of the case's size. */
  readonly uncertain: number;
}

/** Arguments, and for every case what is known there. */
export interface FunctionData {
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly wanted: readonly (readonly (Wanted | undefined)[])[];
}

const SPECIAL = [
  ...[0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 10, -10, 40, 0.25, Infinity, -Infinity, NaN],
  ...[1e-30, -1e-30, 1e30, -1e30, 1.5, 2.5, -1.5, -2.5],
];

function inputs(dtype: PairwiseDType): { x: number[]; y: number[] } {
  const round = dtype === 'float32' ? Math.fround : (value: number) => value;
  const ends = dtype === 'float32' ? [1e-45, 1e-39, 3.4e38] : [5e-324, 1e-310, 1.7e308];
  const all = [...SPECIAL, ...ends, ...ends.map((end) => -end)];
  const x = all.flatMap((first) => all.map(() => first));
  const y = all.flatMap(() => all);
  let state = 4711;
  const random = (): number => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const signed = (low: number, high: number): number =>
    2 ** (low + random() * (high - low)) * (random() < 0.3 ? -1 : 1);
  for (let n = 0; n < 300; n++) {
    x.push(random() * 24 - 12, random(), random() * 80 - 20, signed(-20, 14), signed(-100, 100));
    y.push(random() * 24 - 12, random(), random() - 0.5, signed(-20, 14), signed(-100, 100));
  }
  return { x: x.map(round), y: y.map(round) };
}

/** Special values of a come with every one of b: one evaluation is enough where b does not occur. */
function values(expr: RealExpr, x: readonly number[], y: readonly number[]): number[] {
  const isBinary = variables(expr).includes('b');
  const found = new Map<number | string, number>();
  return x.map((at, i) => {
    const key = isBinary ? i : Object.is(at, -0) ? '-0' : at;
    const value = found.get(key) ?? evaluate(expr, { a: at, b: y[i] ?? NaN });
    found.set(key, value);
    return value;
  });
}

const known = new Map<PairwiseDType, FunctionData>();

/** Special values, random ones by the evaluator, and in float64 those of 40-digit arithmetic. */
export function functionData(dtype: PairwiseDType): FunctionData {
  const old = known.get(dtype);
  if (old !== undefined) return old;
  const { x, y } = inputs(dtype);
  const wanted: (Wanted | undefined)[][] = FUNCTION_CASES.map(({ evaluator }, n) =>
    values(FUNCTION_EXPRESSIONS[n] as RealExpr, x, y).map((value) => ({
      value,
      uncertain: evaluator,
    })),
  );
  if (dtype === 'float64') addReferences(x, y, wanted);
  while (x.length % 16 !== 0) {
    x.push(1);
    y.push(1);
    wanted.forEach((row) => row.push(undefined));
  }
  const data = { x, y, wanted };
  known.set(dtype, data);
  return data;
}

function addReferences(x: number[], y: number[], wanted: (Wanted | undefined)[][]): void {
  for (const [fn, attributes, rows] of [...ELEMENTARY_VALUES, ...SPECIAL_VALUES]) {
    const n = FUNCTION_CASES.findIndex(
      (one) => one.fn === fn && one.attributes.join() === attributes.join(),
    );
    for (const row of rows) {
      const [first = NaN, second = NaN] = row;
      x.push(first);
      y.push(second);
      wanted.forEach((all, at) => {
        all.push(at === n ? { value: row.at(-1) ?? NaN, uncertain: 0.5 } : undefined);
      });
    }
  }
}

/** Nearest of all to a multiple of pi / 2; the emulator's C library is 8 units off there. */
const HARDEST_ANGLE = 6381956970095103 * 2 ** 797;

/** Compares results, one row for each case; gives what is wrong. */
export function compareFunctions(
  dtype: PairwiseDType,
  dialect: 'cpu' | 'cuda',
  out: { readonly [index: number]: number },
): string[] {
  const { x, y, wanted } = functionData(dtype);
  const isFloat = dtype === 'float32';
  const unit = isFloat ? 2 ** -24 : 2 ** -53;
  const [smallest, largest] = isFloat ? [2 ** -126, 3.4028235677973366e38] : [2 ** -1022, Infinity];
  const wrong: string[] = [];
  FUNCTION_CASES.forEach((one, n) => {
    const builtin = dialect === 'cuda' ? one.cuda?.[isFloat ? 0 : 1] : undefined;
    const units = builtin ?? (isFloat ? (one.float32 ?? 1.1) : one.float64);
    // float32 by double precision: what that is off counts in its own unit
    const inDouble = isFloat ? (builtin === undefined ? one.float64 : 0) : 0;
    x.forEach((at, i) => {
      const known = wanted[n]?.[i];
      if (dialect === 'cuda' && at === HARDEST_ANGLE) return;
      if (known === undefined || one.vague?.(at, smallest) === true) return;
      const exact = known.value;
      const value = Math.abs(exact) >= largest ? Math.sign(exact) * Infinity : exact;
      const got = out[n * x.length + i] as number;
      if (Object.is(got + 0, value + 0)) return;
      const computed = one.size?.(at, exact) ?? Math.abs(exact);
      const size = Number.isFinite(computed) ? computed : Math.abs(exact);
      const inDataType = one.float32 === undefined && builtin === undefined && isFloat;
      const allowed =
        units * unit * (inDataType ? Math.abs(exact) : size) +
        (inDouble + known.uncertain) * 2 ** -53 * size +
        smallest * 2 * unit * Math.max(2, units);
      if (Math.abs(got - value) <= allowed) return;
      // at the end of the range a rounding decides
      if (Math.abs(exact) > largest * (1 - 2 ** -12) && Math.abs(got) > 3e38) return;
      wrong.push(`${one.fn} ${one.attributes.join()} at ${at}, ${y[i]}: ${got}, not ${value}`);
    });
  });
  return wrong;
}
