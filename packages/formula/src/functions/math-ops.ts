import { besselJ, besselK } from './bessel.js';
import { erf, erfc } from './erf.js';
import { lgamma, polygamma } from './gamma.js';
import { oneAtZero, radialBesselK, radialLog, radialPower, radialWendland } from './radial.js';
import { sinXDivX } from './sinc.js';

/** The functions that a `call` node names: how many arguments, and how many fixed numbers. */
export interface MathArity {
  sin: [1, 0];
  cos: [1, 0];
  tan: [1, 0];
  asin: [1, 0];
  acos: [1, 0];
  atan: [1, 0];
  atan2: [2, 0];
  sinh: [1, 0];
  cosh: [1, 0];
  erf: [1, 0];
  erfc: [1, 0];
  log1p: [1, 0];
  expm1: [1, 0];
  softplus: [1, 0];
  lgamma: [1, 0];
  polygamma: [1, 1];
  floor: [1, 0];
  ceil: [1, 0];
  round: [1, 1];
  sinXDivX: [1, 1];
  besselJ: [1, 1];
  besselK: [1, 1];
  radialBesselK: [1, 1];
  radialWendland: [1, 2];
  radialPower: [1, 1];
  radialLog: [1, 1];
  oneAtZero: [2, 0];
}

/** The name of a function of a `call` node. */
export type MathOp = keyof MathArity;

/** Float64 meaning of a function, from its arguments and its fixed numbers. */
export interface MathFunction {
  readonly args: 1 | 2;
  readonly attributes: 0 | 1 | 2;
  /** What each fixed number may be. */
  readonly ranges: readonly NumberRange[];
  evaluate(args: readonly number[], attributes: readonly number[]): number;
}

/** What a fixed number may be. */
export interface NumberRange {
  readonly least: number;
  readonly most: number;
  readonly integer: boolean;
}

const MAX_ORDER = 64;
const REAL: NumberRange = { least: -MAX_ORDER, most: MAX_ORDER, integer: false };
const whole = (least: number, most: number): NumberRange => ({ least, most, integer: true });

const unary = (f: (x: number) => number): MathFunction => ({
  args: 1,
  attributes: 0,
  ranges: [],
  evaluate: ([x]) => f(x!),
});
const ordered = (range: NumberRange, f: (order: number, x: number) => number): MathFunction => ({
  args: 1,
  attributes: 1,
  ranges: [range],
  evaluate: ([x], [order]) => f(order!, x!),
});

/** Every function, in the order of {@link MathArity}. */
export const MATH: { readonly [K in MathOp]: MathFunction } = {
  sin: unary(Math.sin),
  cos: unary(Math.cos),
  tan: unary(Math.tan),
  asin: unary(Math.asin),
  acos: unary(Math.acos),
  atan: unary(Math.atan),
  atan2: { args: 2, attributes: 0, ranges: [], evaluate: ([y, x]) => Math.atan2(y!, x!) },
  sinh: unary(Math.sinh),
  cosh: unary(Math.cosh),
  erf: unary(erf),
  erfc: unary(erfc),
  log1p: unary(Math.log1p),
  expm1: unary(Math.expm1),
  softplus: unary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  lgamma: unary(lgamma),
  polygamma: ordered(whole(0, MAX_ORDER), polygamma),
  floor: unary(Math.floor),
  ceil: unary(Math.ceil),
  round: ordered(whole(-300, 300), roundHalfAway),
  sinXDivX: ordered(whole(0, MAX_ORDER), sinXDivX),
  besselJ: ordered(whole(-MAX_ORDER, MAX_ORDER), besselJ),
  besselK: ordered(REAL, (order, x) => besselK(order, x)),
  radialBesselK: ordered(REAL, radialBesselK),
  radialWendland: {
    args: 1,
    attributes: 2,
    ranges: [whole(1, MAX_ORDER), whole(-MAX_ORDER, 8)],
    evaluate: ([s], [l, k]) => radialWendland(l!, k!, s!),
  },
  radialPower: ordered(REAL, radialPower),
  radialLog: ordered(REAL, radialLog),
  oneAtZero: { args: 2, attributes: 0, ranges: [], evaluate: ([f, s]) => oneAtZero(f!, s!) },
};

/** `x` to `decimals` decimals, half away from zero. */
function roundHalfAway(decimals: number, x: number): number {
  const scale = 10 ** decimals;
  const size = Math.abs(x) * scale;
  // There are no halves to decide, and the product may be infinite.
  if (!(size < 2 ** 52)) return x;
  const below = Math.floor(size);
  // Not floor(size + 1/2): that sum is rounded, so the largest number below 1/2 would become 1.
  return (Math.sign(x) * (size - below >= 0.5 ? below + 1 : below)) / scale;
}
