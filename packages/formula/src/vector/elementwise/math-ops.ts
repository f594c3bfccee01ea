import { besselJ, besselK } from '../special/bessel.js';
import { erf, erfc } from '../special/erf.js';
import { lgamma, polygamma } from '../special/gamma.js';
import { radialBesselK, radialLog, radialPower, radialWendland } from '../special/radial.js';
import { sinXDivX } from '../special/sinc.js';

/** Functions that the scalar language does not have, with the number of their fixed numbers. */
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
}

/** The name of a function that the scalar language does not have. */
export type MathOp = keyof MathArity;

/** Float64 meaning of a function, from its arguments and its fixed numbers. */
export interface MathFunction {
  readonly args: 1 | 2;
  readonly attributes: 0 | 1 | 2;
  evaluate(args: readonly number[], attributes: readonly number[]): number;
}

const unary = (f: (x: number) => number): MathFunction => ({
  args: 1,
  attributes: 0,
  evaluate: ([x]) => f(x!),
});
const ordered = (f: (order: number, x: number) => number): MathFunction => ({
  args: 1,
  attributes: 1,
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
  atan2: { args: 2, attributes: 0, evaluate: ([y, x]) => Math.atan2(y!, x!) },
  sinh: unary(Math.sinh),
  cosh: unary(Math.cosh),
  erf: unary(erf),
  erfc: unary(erfc),
  log1p: unary(Math.log1p),
  expm1: unary(Math.expm1),
  softplus: unary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  lgamma: unary(lgamma),
  polygamma: ordered(polygamma),
  floor: unary(Math.floor),
  ceil: unary(Math.ceil),
  round: ordered(roundHalfAway),
  sinXDivX: ordered(sinXDivX),
  besselJ: ordered(besselJ),
  besselK: ordered((order, x) => besselK(order, x)),
  radialBesselK: ordered(radialBesselK),
  radialWendland: {
    args: 1,
    attributes: 2,
    evaluate: ([s], [l, k]) => radialWendland(l!, k!, s!),
  },
  radialPower: ordered(radialPower),
  radialLog: ordered(radialLog),
};

/** `x` to `decimals` decimals, half away from zero. */
function roundHalfAway(decimals: number, x: number): number {
  const scale = 10 ** decimals;
  return (Math.sign(x) * Math.floor(Math.abs(x) * scale + 0.5)) / scale;
}
