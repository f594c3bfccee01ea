import { KERNEL_CASES } from './function-cases.test-support.js';
import type { OperationCase } from './operation-case.test-support.js';

type Vector = readonly number[];
type Complex = readonly [re: number, im: number];
const ANY = [-2, 2] as const;

/** Random vectors of these dims, between -2 and 2. */
function vectors(
  text: string,
  dims: readonly number[],
  oracle: (...args: readonly Vector[]) => Vector,
): OperationCase {
  return { text, inputs: dims.map((dim) => [dim, ...ANY]), oracle };
}

const sum = (v: Vector): number => v.reduce((total, x) => total + x, 0);
const squares = (v: Vector): number => sum(v.map((x) => x * x));
const minus = (a: Vector, b: Vector): Vector => a.map((x, k) => x - b[k]!);

const pairs = (v: Vector): Complex[] =>
  Array.from({ length: v.length / 2 }, (_, k) => [v[2 * k]!, v[2 * k + 1]!]);
const times = (a: Complex, b: Complex): Complex => [
  a[0] * b[0] - a[1] * b[1],
  a[0] * b[1] + a[1] * b[0],
];
const over = (a: Complex, b: Complex): Complex => {
  const [re, im] = times(a, [b[0], -b[1]]);
  const size = b[0] ** 2 + b[1] ** 2;
  return [re / size, im / size];
};

/** A complex operation, number by number; one number is repeated. */
function complex(
  text: string,
  dims: readonly number[],
  f: (x: Complex, y: Complex) => readonly number[],
): OperationCase {
  const oracle = (a: Vector, b: Vector = [0, 0]): Vector => {
    const [x, y] = [pairs(a), pairs(b)];
    return Array.from({ length: Math.max(x.length, y.length) }, (_, k) =>
      f(x[x.length === 1 ? 0 : k]!, y[y.length === 1 ? 0 : k]!),
    ).flat();
  };
  return vectors(text, dims, oracle);
}

/** De Boor's recursion at one point, for one spline. */
function spline(t: Vector, i: number, k: number, x: number): number {
  if (k === 0) return t[i]! <= x && x < t[i + 1]! ? 1 : 0;
  const left = (x - t[i]!) / (t[i + k]! - t[i]!);
  const right = (t[i + k + 1]! - x) / (t[i + k + 1]! - t[i + 1]!);
  return left * spline(t, i, k - 1, x) + right * spline(t, i + 1, k - 1, x);
}

function bSpline(order: number): OperationCase {
  const knots = [-3, -2.1, -0.9, 0.2, 1.3, 2, 3.4];
  return {
    text: `BSpline(Concat(${knots.map((t, k) => `${t} + Elem(b, ${k})`).join(', ')}), a, ${order})`,
    inputs: [
      [1, 0.4, 1],
      [knots.length, -0.1, 0.1],
    ],
    oracle: ([x], moved) => {
      const t = knots.map((at, k) => at + moved[k]!);
      return Array.from({ length: t.length - order - 1 }, (_, i) => spline(t, i, order, x!));
    },
  };
}

function softDtw(x: Vector, y: Vector, gamma: number): number {
  const table = new Map<string, number>([['-1,-1', 0]]);
  for (const [i, a] of x.entries()) {
    for (const [j, b] of y.entries()) {
      const before = [`${i - 1},${j - 1}`, `${i - 1},${j}`, `${i},${j - 1}`].map(
        (key) => table.get(key) ?? Infinity,
      );
      const total = sum(before.map((r) => Math.exp(-r / gamma)));
      table.set(`${i},${j}`, (a - b) ** 2 - gamma * Math.log(total));
    }
  }
  return table.get(`${x.length - 1},${y.length - 1}`)!;
}

/** Operations on components, structure, splines, complex vectors and kernels. */
export const STRUCTURE_CASES: readonly OperationCase[] = [
  ...KERNEL_CASES,
  vectors('Sum(a)', [4], (a) => [sum(a)]),
  vectors('Max(a)', [5], (a) => [Math.max(...a)]),
  vectors('Min(a)', [5], (a) => [Math.min(...a)]),
  vectors('ArgMax(a)', [5], (a) => [a.indexOf(Math.max(...a))]),
  vectors('ArgMin(a)', [5], (a) => [a.indexOf(Math.min(...a))]),
  vectors('a | b', [4, 4], (a, b) => [sum(a.map((x, k) => x * b[k]!))]),
  vectors('Scalprod(a, a)', [4], (a) => [squares(a)]),
  vectors('SqNorm2(a)', [3], (a) => [squares(a)]),
  vectors('Norm2(a)', [3], (a) => [Math.hypot(...a)]),
  vectors('Normalize(a)', [3], (a) => a.map((x) => x / Math.hypot(...a))),
  vectors('SqDist(a, b)', [3, 3], (a, b) => [squares(minus(a, b))]),
  vectors('WeightedSqNorm(a, b)', [1, 3], (a, b) => [a[0]! * squares(b)]),
  vectors('WeightedSqNorm(a, b)', [3, 3], (a, b) => [sum(b.map((x, k) => a[k]! * x * x))]),
  vectors('WeightedSqNorm(a, b)', [9, 3], (a, b) => [quadratic(a, b)]),
  vectors('WeightedSqDist(a, b, c)', [9, 3, 3], (a, b, c) => [quadratic(a, minus(b, c))]),
  vectors('SqNormIso(a, b)', [1, 3], (a, b) => [a[0]! * squares(b)]),
  vectors('SqNormDiag(a, b)', [3, 3], (a, b) => [sum(b.map((x, k) => a[k]! * x * x))]),
  vectors('SymSqNorm(a, b)', [4, 2], (a, b) => [quadratic(a, b)]),
  vectors('SumT(a, 3)', [1], (a) => [a[0]!, a[0]!, a[0]!]),
  vectors('Elem(a, 3)', [5], (a) => [a[3]!]),
  vectors('ElemT(a, 5, 3)', [1], (a) => [0, 0, 0, a[0]!, 0]),
  vectors('Extract(a, 3, 5)', [10], (a) => a.slice(3, 8)),
  vectors('Extract(a, 1, 3, 2)', [6], (a) => [a[1]!, a[3]!, a[5]!]),
  vectors('ExtractT(a, 3, 10)', [5], (a) => [0, 0, 0, ...a, 0, 0]),
  vectors('ExtractT(a, 1, 6, 2)', [3], (a) => [0, a[0]!, 0, a[1]!, 0, a[2]!]),
  vectors('Concat(a, b)', [5, 3], (a, b) => [...a, ...b]),
  vectors('Interleave(a, b, c)', [2, 2, 2], (a, b, c) => [
    a[0]!,
    b[0]!,
    c[0]!,
    a[1]!,
    b[1]!,
    c[1]!,
  ]),
  {
    text: 'OneHot(a, 4)',
    inputs: [[1, -1.4, 5]],
    oracle: ([x]) => [0, 1, 2, 3].map((k) => Number(x! >= k - 0.5 && x! < k + 0.5)),
  },
  {
    text: 'Gather(a, b)',
    inputs: [
      [3, ...ANY],
      [1, -0.4, 0.4],
    ],
    oracle: (a) => a,
  },
  vectors('a * (Index_i + 1) + Index_j', [3], (a) => a),
  ...[0, 1, 2, 3].map(bSpline),
  {
    text: 'SoftDTW_SqDist(a, b, c)',
    inputs: [
      [3, ...ANY],
      [4, ...ANY],
      [1, 0.5, 1.5],
    ],
    oracle: (a, b, c) => [softDtw(a, b, c[0]!)],
  },
  // complex
  vectors('Real2Complex(a)', [2], (a) => [a[0]!, 0, a[1]!, 0]),
  vectors('Imag2Complex(a)', [2], (a) => [0, a[0]!, 0, a[1]!]),
  complex('ComplexReal(a)', [6], ([re]) => [re]),
  complex('ComplexImag(a)', [6], ([, im]) => [im]),
  complex('ComplexAbs(a)', [6], (x) => [Math.hypot(...x)]),
  complex('ComplexSquareAbs(a)', [6], ([re, im]) => [re * re + im * im]),
  complex('ComplexAngle(a)', [6], ([re, im]) => [Math.atan2(im, re)]),
  complex('Conj(a)', [6], ([re, im]) => [re, -im]),
  complex('ComplexExp(a)', [6], ([re, im]) => [
    Math.exp(re) * Math.cos(im),
    Math.exp(re) * Math.sin(im),
  ]),
  vectors('ComplexExp1j(a)', [2], (a) => a.flatMap((x) => [Math.cos(x), Math.sin(x)])),
  complex('ComplexAdd(a, b)', [6, 2], (x, y) => [x[0] + y[0], x[1] + y[1]]),
  complex('ComplexAdd(a, b)', [6, 6], (x, y) => [x[0] + y[0], x[1] + y[1]]),
  complex('ComplexSubtract(a, b)', [2, 6], (x, y) => [x[0] - y[0], x[1] - y[1]]),
  complex('ComplexSubtract(a, b)', [4, 4], (x, y) => [x[0] - y[0], x[1] - y[1]]),
  complex('ComplexMult(a, b)', [6, 6], times),
  complex('ComplexMult(a, b)', [2, 6], times),
  complex('ComplexDivide(a, b + 3)', [6, 6], (x, y) => over(x, [y[0] + 3, y[1] + 3])),
  complex('ComplexDivide(a, b + 3)', [2, 6], (x, y) => over(x, [y[0] + 3, y[1] + 3])),
  vectors('ComplexRealScal(a, b)', [1, 4], (a, b) => b.map((x) => a[0]! * x)),
  vectors('ComplexRealScal(a, b)', [2, 4], (a, b) => b.map((x, k) => a[Math.floor(k / 2)]! * x)),
  vectors('ComplexSum(a)', [6], (a) => [a[0]! + a[2]! + a[4]!, a[1]! + a[3]! + a[5]!]),
  vectors('ComplexSumT(a, 6)', [2], (a) => [...a, ...a, ...a]),
];

function quadratic(matrix: Vector, x: Vector): number {
  return sum(matrix.map((m, k) => m * x[Math.floor(k / x.length)]! * x[k % x.length]!));
}
