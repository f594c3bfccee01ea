import {
  abs,
  constant,
  div,
  eq,
  mul,
  pow,
  select,
  sign,
  simplify,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { isSpecialisedNorm } from '../pairwise/norm-expressions.js';
import { PlanError } from '../plan-error.js';

const delta = variable('delta');
const distance = abs(delta);
const p = variable('p');

/** `|delta|^(p - 1)` with the sign of delta and 0 at 0, for a p that is known at run time only. */
export const RUNTIME_DERIVATIVE: RealExpr = guarded(mul(sign(delta), pow(distance, sub(p, 1))));

/**
 * Whether a kernel is written for this very p: where p - 1 is a half-integer up to 8 or a multiple
 * of 1/4 up to 4 in magnitude, the power becomes products and square roots. Every other p shares one
 * kernel that takes p at run time.
 */
export function isSpecialisedDerivative(norm: number): boolean {
  if (!(norm > 0) || norm === Infinity) return false;
  return norm === 1 || isSpecialisedNorm(Math.abs(norm - 1));
}

/**
 * The derivative of `|delta|^p / p` in the variable `delta`: `sign(delta) |delta|^(p - 1)`, 0 at 0
 * for every p > 0. With `'runtime'` p is the variable `p`.
 *
 * ```ts
 * import { evaluate } from '@mercer/formula';
 * import { normDerivative } from '@mercer/kernels';
 * console.log(evaluate(normDerivative(3), { delta: -2 })); // -4
 * console.log(evaluate(normDerivative(0.5), { delta: 0 })); // 0
 * ```
 */
export function normDerivative(norm: number | 'runtime'): RealExpr {
  if (norm === 'runtime') return RUNTIME_DERIVATIVE;
  if (!(norm > 0) || norm === Infinity) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot build the derivative of the ${norm}-norm: p must be positive and finite. Pass p > 0.`,
    );
  }
  if (norm === 1) return sign(delta);
  if (norm === 2) return delta;
  // With a factor delta the product is 0 at 0 by itself; below p = 2 nothing but a select makes it so.
  if (norm > 2) return mul(delta, simplify(pow(distance, norm - 2)));
  const exponent = norm - 1;
  const power = simplify(pow(distance, Math.abs(exponent)));
  return guarded(mul(sign(delta), exponent > 0 ? power : div(constant(1), power)));
}

function guarded(value: RealExpr): RealExpr {
  return select(eq(delta, 0), 0, value);
}
