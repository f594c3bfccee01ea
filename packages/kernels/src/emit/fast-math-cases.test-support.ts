import { abs, call, div, log, pow, sqrt, tanh, variable, type RealExpr } from '@mercer/formula';
import type { CudaKernel } from '../emitted-kernel.js';
import { everyOpKernel } from './every-op-kernel.test-support.js';

const [a, b] = [variable('a'), variable('b')];

/** A function of float32 with its meaning, the numbers that its bound is for, and the bound: absolute, in units of 2^-24. */
interface FastCase {
  readonly name: string;
  readonly expr: RealExpr;
  readonly meant: (x: number, y: number) => number;
  readonly isFor: (x: number, y: number) => boolean;
  readonly bound: (x: number, y: number, value: number) => number;
}

const NORMAL = 2 ** -126;

/** The relative bound of x^y, in units of 2^-24. */
const powerBound = (x: number, y: number): number =>
  3 + 3 * Math.abs(y) + 4 * Math.abs(y * Math.log2(Math.abs(x)));

const CASES: readonly FastCase[] = [
  {
    name: 'x / y',
    expr: div(a, b),
    meant: (x, y) => x / y,
    isFor: (_, y) => Math.abs(y) >= NORMAL && Math.abs(y) <= 2 ** 126,
    bound: (_x, _y, value) => 4 * Math.abs(value),
  },
  {
    name: 'log x',
    expr: log(a),
    meant: Math.log,
    isFor: (x) => x >= NORMAL,
    bound: (_x, _y, value) => 3 + 6 * Math.abs(value),
  },
  {
    name: 'x^y',
    expr: pow(abs(a), b),
    meant: (x, y) => Math.abs(x) ** y,
    // of an exponent of millions nothing is known
    isFor: (x, y) => Math.abs(x) >= NORMAL && powerBound(x, y) < 2 ** 23,
    bound: (x, y, value) => powerBound(x, y) * value,
  },
  {
    name: 'sqrt x',
    expr: sqrt(a),
    meant: Math.sqrt,
    isFor: (x) => x >= NORMAL,
    bound: (_x, _y, value) => 2 * value,
  },
  {
    name: 'tanh x',
    expr: tanh(a),
    meant: Math.tanh,
    isFor: () => true,
    bound: () => 8,
  },
  {
    name: 'sin x',
    expr: call('sin', [a]),
    meant: Math.sin,
    isFor: (x) => Math.abs(x) <= 1e5,
    bound: () => 20,
  },
  {
    name: 'cos x',
    expr: call('cos', [a]),
    meant: Math.cos,
    isFor: (x) => Math.abs(x) <= 1e5,
    bound: () => 20,
  },
];

/** Every function of `fastMath` as one kernel: `a` and `b` to a row of results each. */
export const fastMathKernel = (): CudaKernel =>
  everyOpKernel(
    'float32',
    true,
    CASES.map(({ expr }) => expr),
    true,
  );

/** Numbers of all sizes, many of them near 0, 1 and the zeros of sines, which are the hard ones. */
export function fastMathInputs(count = 1 << 18): { x: Float32Array; y: Float32Array } {
  let state = 4711;
  const random = (): number => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const drawn = (): number => {
    const kind = random();
    const sign = random() < 0.3 ? -1 : 1;
    if (kind < 0.2) return sign * (1 + (random() - 0.5) * 2 ** (-20 * random()));
    if (kind < 0.4)
      return sign * (Math.PI / 2) * Math.floor(random() * 60000) + (random() - 0.5) / 64;
    if (kind < 0.7) return sign * 10 * random();
    return sign * 2 ** (random() * 60 - 30);
  };
  return {
    x: Float32Array.from({ length: count }, drawn),
    y: Float32Array.from({ length: count }, (_, n) => (n % 2 === 0 ? drawn() : 12 * random() - 6)),
  };
}

/** How much of its bound each function errs by at most, with the argument: more than 1 is wrong. */
export function sharesOfBounds(
  out: Float32Array,
  { x, y }: { readonly x: Float32Array; readonly y: Float32Array },
): readonly { readonly name: string; readonly share: number; readonly at: string }[] {
  const unit = 2 ** -24;
  return CASES.map(({ name, meant, isFor, bound }, row) => {
    let [share, at] = [0, ''];
    for (let n = 0; n < x.length; n++) {
      const [one, other] = [x[n] ?? NaN, y[n] ?? NaN];
      const value = meant(one, other);
      const size = Math.abs(value);
      // Results beyond the normal range are 0 or infinite.
      if (!isFor(one, other) || !(size < 3.4e38)) continue;
      const found = out[row * x.length + n] ?? NaN;
      const least = size < NORMAL * (1 + 2 ** -10) ? NORMAL : 0;
      const own = Math.abs(found - value) / (bound(one, other, value) * unit + least || NORMAL);
      if (own <= share) continue;
      [share, at] = [own, `${name} at ${one}, ${other}: ${found}, not ${value}`];
    }
    return { name, share, at };
  });
}

/** What is exact, also where functions are fast. */
export const EXACT: readonly (readonly [name: string, x: number, y: number, value: number])[] = [
  ['x / y', 1, 0, Infinity],
  ['x / y', 0, 0, NaN],
  ['x / y', 1, Infinity, 0],
  ['x / y', NaN, 1, NaN],
  ['log x', 0, 0, -Infinity],
  ['log x', 1, 0, 0],
  ['log x', -1, 0, NaN],
  ['log x', Infinity, 0, Infinity],
  ['x^y', 0, 2, 0],
  ['x^y', 0, 0, 1],
  ['x^y', NaN, 0, 1],
  ['x^y', 0, -1, Infinity],
  ['x^y', Infinity, 2, Infinity],
  ['x^y', NaN, 2, NaN],
  ['sqrt x', 0, 0, 0],
  ['sqrt x', -1, 0, NaN],
  ['tanh x', Infinity, 0, 1],
  ['tanh x', -Infinity, 0, -1],
  ['tanh x', NaN, 0, NaN],
  ['sin x', 0, 0, 0],
  ['sin x', Infinity, 0, NaN],
  ['cos x', 0, 0, 1],
  ['cos x', NaN, 0, NaN],
];

/** The row of results that a function of {@link EXACT} has. */
export const rowOf = (name: string): number => CASES.findIndex((one) => one.name === name);

/** The number of functions. */
export const FUNCTIONS = CASES.length;
