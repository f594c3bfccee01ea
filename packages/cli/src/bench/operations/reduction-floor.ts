import { LLOYD_ITERATIONS, type ReductionCell, type ReductionName } from '../cells.js';
import { best, type DeviceLimitsReport } from '../limits.js';
import { multiplyAdds } from './rates.js';

/** What a pair of points costs at the least. */
export interface PairCost {
  /** Instructions at the rate of multiply-adds, those of the special-function unit among them. */
  readonly slots: number;
  /** Operations of the special-function unit. */
  readonly special: number;
}

/** Instructions of the parts that formulas are made of. */
export interface Parts {
  /** |x - y|^2 of dimension D. */
  readonly distance: number;
  readonly exp: PairCost;
  readonly sqrt: PairCost;
}

export type SlotCounts = (parts: Parts, d: number) => PairCost;

/**
 * From this dimension on a squared distance is counted as |x|^2 + |y|^2 - 2 x y: D multiply-adds and an addition, in place of D
 * differences and D multiply-adds. Tensor cores would be quicker still; they are not in the floor.
 */
export const INNER_PRODUCT_DIMS = 32;

const NO_SPECIAL = { slots: 0, special: 0 };

/** Of one pair, beside its parts. */
export const pairSlots: Readonly<Record<ReductionName, SlotCounts>> = {
  // the multiply-add with b: with the exponential 2 D + 3, or D + 3 through an inner product
  gaussianSum: ({ distance, exp }) => total(distance + 1, exp),
  laplacianSum: ({ distance, exp, sqrt }) => total(distance + 1, exp, sqrt),
  // the addition; what exponents are taken relative to need not be the maximum, and is subtracted by the multiply-add that scales them
  logSumExp: ({ distance, exp }) => total(distance + 1, exp),
  // the product with b, its addition, and one multiply-add for each coordinate
  gaussianGradient: ({ distance, exp }, d) => total(distance + 2 + d, exp),
  // the comparison; |x|^2 is the same for all y and not added
  nearest: ({ distance }, d) => total(ranking(distance, d) + 1),
  kMeansAssignment: ({ distance }, d) => total(ranking(distance, d) + 1),
  // the assignments; the update is a term for each point, not for each pair
  kMeans: ({ distance }, d) => total(LLOYD_ITERATIONS * (ranking(distance, d) + 1)),
};

/**
 * Milliseconds of a reduction's arithmetic: m n pairs at the rate of plain multiply-adds and, on a GPU in float32, at the rate of
 * special-function operations, whichever takes longer. Undefined where a loop for one of them was not measured.
 *
 * - Squared distance: 2 D, from D = 32 on D + 1.
 * - exp on a GPU in float32: the scale to base 2 (none from D = 32 on, where it goes into the points beforehand) and one
 *   special-function instruction. Elsewhere a polynomial: 5 multiply-adds in float32 and 11 in float64, and 5 instructions beside
 *   it: the scale, rounding, two for the remainder, and the power of two.
 * - Square root on a GPU in float32: a special-function instruction and a product. Elsewhere an estimate, one step of Newton's
 *   method (3) and a product in float32; two steps in float64.
 */
export function reductionMs(
  { m, n, d, batch, dtype }: ReductionCell,
  slots: SlotCounts,
  limits: DeviceLimitsReport,
): number | undefined {
  const hasUnit = limits.device !== 'cpu' && dtype === 'float32';
  const rate = multiplyAdds({ dtype }, limits);
  const cost = slots(partsOf(d, dtype, hasUnit), d);
  if (rate === undefined) return undefined;
  const pairs = m * n * batch;
  const issueMs = ((pairs * cost.slots) / rate) * 1e3;
  if (cost.special === 0) return issueMs;
  const special = best(limits, ['fp32-power-special'], 'specialPerSecond');
  if (special === undefined) return undefined;
  return Math.max(issueMs, ((pairs * cost.special) / special) * 1e3);
}

function partsOf(d: number, dtype: ReductionCell['dtype'], hasUnit: boolean): Parts {
  const isInner = d >= INNER_PRODUCT_DIMS;
  const distance = isInner ? d + 1 : 2 * d;
  if (hasUnit) {
    return {
      distance,
      exp: { slots: isInner ? 1 : 2, special: 1 },
      sqrt: { slots: 2, special: 1 },
    };
  }
  const single = dtype === 'float32';
  return {
    distance,
    exp: { slots: (single ? 5 : 11) + 5, special: 0 },
    sqrt: { slots: single ? 5 : 8, special: 0 },
  };
}

function ranking(distance: number, d: number): number {
  return d >= INNER_PRODUCT_DIMS ? distance - 1 : distance;
}

function total(slots: number, ...parts: readonly PairCost[]): PairCost {
  return parts.reduce(
    (sum, part) => ({ slots: sum.slots + part.slots, special: sum.special + part.special }),
    { ...NO_SPECIAL, slots },
  );
}
