import {
  abs,
  constant,
  div,
  lt,
  mul,
  pow,
  select,
  simplify,
  sqrt,
  sub,
  variable,
} from '@mercer/formula';
import type { RealExpr } from '@mercer/formula';
import { PlanError } from '../plan-error.js';
import type { Reduce } from './problem.js';

/** The three parts of a p-norm distance. */
export interface NormExpressions {
  readonly inner: RealExpr;
  readonly outer: RealExpr;
  readonly reduce: Reduce;
}

/** Half-integer exponents up to this one become products and square roots. */
const MAX_HALF_INTEGER = 8;
/** Odd multiples of 1/4 up to this one become products and nested square roots. */
const MAX_QUARTER = 4;

/**
 * Whether a kernel is written for this very p: infinity, integers and half-integers up to 8, and
 * multiples of 1/4 up to 4. Every other p shares one kernel that takes p as a run-time scalar.
 */
export function isSpecialisedNorm(p: number): boolean {
  if (p === Infinity) return true;
  if (!(p > 0)) return false;
  return p <= MAX_QUARTER
    ? Number.isInteger(4 * p)
    : p <= MAX_HALF_INTEGER && Number.isInteger(2 * p);
}

/**
 * The expressions of the p-norm distance `(sum_k |a - b|^p)^(1/p)`; for infinity `max_k |a - b|`;
 * with `'runtime'` p is the variable `p`. `skipEpilogue` leaves out the root.
 *
 * ```ts
 * import { print } from '@mercer/formula';
 * import { normExpressions } from '@mercer/kernels';
 * console.log(print(normExpressions(2).outer)); // sqrt(s)
 * ```
 */
export function normExpressions(
  p: number | 'runtime',
  { skipEpilogue = false }: { readonly skipEpilogue?: boolean } = {},
): NormExpressions {
  if (p !== 'runtime' && !(p > 0)) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot build the ${p}-norm: p must be a positive number or infinity. Pass p > 0.`,
    );
  }
  const difference = sub(variable('a'), variable('b'));
  const distance = abs(difference);
  const s = variable('s');
  if (p === 1) return { inner: distance, outer: s, reduce: 'sum' };
  if (p === Infinity) return { inner: distance, outer: s, reduce: 'max' };
  if (p === 2) {
    const inner = mul(difference, difference);
    return { inner, outer: skipEpilogue ? s : sqrt(s), reduce: 'sum' };
  }
  const exponent = p === 'runtime' ? variable('p') : constant(p);
  const inner = simplify(pow(distance, exponent));
  const root = p === 'runtime' ? div(1, exponent) : constant(1 / p);
  return {
    inner,
    outer: skipEpilogue ? s : simplify(pow(s, root), { nonNegative: ['s'] }),
    reduce: 'sum',
  };
}

/**
 * 1 where the exponent of this name is a positive finite number, else NaN: a factor that tells of an exponent in memory, which
 * nothing looks at before the kernel does.
 */
export function oneForExponent(name: string): RealExpr {
  const exponent = variable(name);
  return select(lt(0, exponent), select(lt(exponent, Infinity), 1, NaN), NaN);
}
