import {
  ops,
  reduction,
  reductionGradient,
  vi,
  vj,
  type Reduction,
  type VectorExpr,
} from '@mercer/formula';
import { random } from '../testing/pairwise-check.test-support.js';
import { wholeNumber, type MapReduceCase } from './map-reduce-check.test-support.js';

type Given = Omit<MapReduceCase, 'dtype' | 'rowsI' | 'rowsJ'>;

const [x, y, b] = [vi(0, 2), vj(1, 2), vj(2, 1)];
const product = ops.dot(x, y);
const distance = ops.sqDist(x, y);
const weighted = (f: VectorExpr): Reduction => reduction('Sum', ops.mul(f, b));
/** The gradient of a sum by the points of one side, applied to an input of the kept side. */
const slope = (of: Reduction, side: 'i' | 'j'): Reduction =>
  reductionGradient(of, side === 'i' ? x : y, vi(3, 1)).reduction;
/** The gradient by the points of j of the gradient by the points of i. */
const secondSlope = (of: Reduction): Reduction =>
  reductionGradient(slope(of, 'i'), y, vi(4, 2)).reduction;

const waves = weighted(ops.add(ops.sin(product), ops.cos(ops.mul(3, product))));
const matern = weighted(ops.maternKernel(distance, 1.5, 1.3));
const roughMatern = weighted(ops.maternKernel(distance, 0.8, 0.9));
const smoothMatern = weighted(ops.maternKernel(distance, 2.3, 1.1));
const wendland = weighted(ops.wendlandKernel(distance, 3, 1, 2.5));
const distribution = weighted(
  ops.add(ops.erf(product), ops.mul(ops.erfc(product), ops.atan2(product, ops.add(b, 2)))),
);
const gammas = weighted(ops.lgamma(ops.add(ops.square(product), 1.25)));
const bessel = weighted(ops.add(ops.besselJ(product, 1), ops.sinc(product)));
const rounded = weighted(ops.add(ops.round(ops.mul(product, 0.5)), ops.mod(product, 3)));

/** Formulas with functions, and gradients of them; whole numbers make points coincide. */
export const FUNCTION_FORMULAS: readonly (readonly [name: string, Given])[] = [
  ['waves', { reduction: waves, units: 40 }],
  ['waves, gradient by i', { reduction: slope(waves, 'i'), units: 80 }],
  ['waves, second derivatives', { reduction: secondSlope(waves), units: 160 }],
  ['Matérn 3/2', { reduction: matern, units: 40, fill: wholeNumber }],
  ['Matérn 3/2, gradient by j', { reduction: slope(matern, 'j'), units: 60, fill: wholeNumber }],
  [
    'Matérn 3/2, second derivatives',
    { reduction: secondSlope(matern), units: 120, fill: wholeNumber },
  ],
  ['Matérn 0.8', { reduction: roughMatern, units: 60, fill: wholeNumber }],
  [
    'Matérn 0.8, gradient by i',
    { reduction: slope(roughMatern, 'i'), units: 90, fill: wholeNumber },
  ],
  [
    'Matérn 2.3, second derivatives',
    { reduction: secondSlope(smoothMatern), units: 120, fill: wholeNumber },
  ],
  ['Wendland', { reduction: wendland, units: 60 }],
  ['Wendland, gradient by i', { reduction: slope(wendland, 'i'), units: 120, fill: wholeNumber }],
  ['error functions and angles', { reduction: distribution, units: 60 }],
  [
    'error functions and angles, gradient by j',
    { reduction: slope(distribution, 'j'), units: 120 },
  ],
  ['gamma functions', { reduction: gammas, units: 80 }],
  ['gamma functions, second derivatives', { reduction: secondSlope(gammas), units: 300 }],
  ['Bessel functions and sinc', { reduction: bessel, units: 60 }],
  ['Bessel functions and sinc, gradient by i', { reduction: slope(bessel, 'i'), units: 120 }],
  ['rounding and remainders', { reduction: rounded, units: 0, fill: wholeNumber }],
  [
    'the largest wave',
    {
      reduction: reduction('Max', ops.tan(ops.asin(ops.mul(0.4, product)))),
      units: 40,
      fill: () => 2 * random() - 1,
    },
  ],
];
