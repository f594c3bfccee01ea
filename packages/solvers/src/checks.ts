import { describeValue } from '@mercer/options';
import { MercerError, random } from '@mercer/tensor';
import { SolverError } from './solver-error.js';

/** @throws MercerError INVALID_ARGUMENT */
export function checkCount(
  what: string,
  name: string,
  value: unknown,
  [least, most]: readonly [least: number, most: number],
  why = '',
): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
    return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a whole number ${most === Infinity ? `of ${least} at least` : `from ${least} to ${most}`}${why}.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkFlag(what: string, name: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass true or false.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkKey(what: string, key: unknown): asserts key is random.RandomKey {
  if (key instanceof random.RandomKey) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: key is ${describeValue(key)}. Pass random.key(seed), or one made of it.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkTolerance(what: string, value: unknown, name = 'rtol'): void {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a number that is not negative.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkReporter(what: string, onIteration: unknown): void {
  if (onIteration === undefined || typeof onIteration === 'function') return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: onIteration is ${describeValue(onIteration)}. Pass a function.`,
  );
}

/** Half the distance from 1 to the next number. */
export const unitOf = (dtype: string): number => (dtype === 'float64' ? 2 ** -53 : 2 ** -24);

/** How far an operator may be from symmetric, by its norm: more is no rounding, nor the error of a system that is solved inside. */
export const asymmetryOf = (dtype: string): number => Math.cbrt(unitOf(dtype));

/** @throws SolverError ASYMMETRIC */
export function checkSymmetric(
  what: string,
  dtype: string,
  difference: number,
  scale: number,
): void {
  if (difference <= asymmetryOf(dtype) * scale) return;
  throw new SolverError(
    'ASYMMETRIC',
    `${what}: two products u . A v and v . A u differ by ${difference}, where the largest is ${scale}, so the operator is not symmetric. Pass half the sum of it and its transpose, or its gram().`,
  );
}

/** @throws SolverError NOT_FINITE */
export function checkFinite(what: string, numbers: readonly number[]): void {
  if (numbers.every(Number.isFinite)) return;
  throw new SolverError(
    'NOT_FINITE',
    `${what}: a product of the operator or the preconditioner, or what the start was given as, holds NaN or infinity. Look for the operation that made it.`,
  );
}
