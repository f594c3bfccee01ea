import { largeBesselK, temmeSeries } from '../math/bessel-k-series.js';
import { atZero, SINH } from '../math/bessel-k-text.js';

/** How long {@link besselKTable} is. */
export const BESSEL_K_NUMBERS = 162;

/**
 * What the text of a modified Bessel function of the second kind has as literals, in the order of native/interpreter/
 * table-functions.h of cpu-runtime: of order |nu|, with the sign of nu.
 */
export function besselKTable(nu: number): readonly number[] {
  const size = Math.abs(nu);
  const { mu, whole, q0, gamma1, gamma2, reflection, value, next } = temmeSeries(size);
  return [
    ...[mu, whole, q0, gamma1, gamma2, reflection, 2 ** mu, 2 ** -mu, nu, atZero(nu), nu - 0.5, 0],
    ...[...SINH, 0],
    ...[...value, ...next].flat(),
    ...[...largeBesselK(mu), ...largeBesselK(mu + 1)],
  ];
}
