import process from 'node:process';
import type { OptionNames } from '@mercer/options';
import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, isTracedKnown, type KnownValue } from '@mercer/tensor/operation';
import { EPSILON, type LinalgDType } from '../checks.js';
import { BACKWARD_OPTIONS, type BackwardOptions } from './backward-options.js';

/** A spectrum at which a decomposition has no derivative, so that terms of its gradient were set to 0. */
export interface SpectrumWarning {
  readonly code: 'DEGENERATE_SPECTRUM';
  /** Index of the matrix in row-major order of the batch axes. */
  readonly entry: number;
  /** Positions i <= j whose terms are 0; [i, i] is a value that counts as 0 itself. */
  readonly pairs: readonly (readonly [number, number])[];
  readonly message: string;
}

/** How equal values of a spectrum are treated. */
export interface SpectrumOptions extends BackwardOptions {
  /**
   * Values that differ by at most this share of the largest magnitude count as equal, from 0 up to 1; default: max(m, n) eps
   * of the dtype.
   */
  readonly tolerance?: number | undefined;
  /** Called once for each matrix with equal values that the gradient depends on. With it the call waits for the device. */
  readonly onDegenerate?: ((warning: SpectrumWarning) => void) | undefined;
}

/** Names of {@link SpectrumOptions}. */
export const SPECTRUM_OPTIONS: OptionNames<SpectrumOptions> = {
  ...BACKWARD_OPTIONS,
  tolerance: true,
  onDegenerate: true,
};

/** The option, checked, or the default. @throws MercerError INVALID_ARGUMENT */
export function spectrumTolerance(
  what: string,
  { tolerance }: SpectrumOptions,
  extent: number,
  dtype: LinalgDType,
): number {
  if (tolerance === undefined) return Math.max(extent, 1) * EPSILON[dtype];
  if (tolerance >= 0 && tolerance < 1) return tolerance;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: tolerance is ${tolerance}. It is a share of the largest magnitude in the spectrum: pass a number from 0 up to 1.`,
  );
}

/** Whether the terms of positions i <= j count as 0, and the message's name for such values. */
export interface DegenerateRule {
  readonly what: string;
  readonly isEqual: (values: ArrayLike<number>, i: number, j: number) => boolean;
  readonly reason: string;
}

/** Eigenvalues, ascending, that count as equal. @throws MercerError INVALID_ARGUMENT */
export function equalEigenvalues(
  what: string,
  { shape, dtype }: Pick<KnownValue, 'shape' | 'dtype'>,
  options: SpectrumOptions,
): DegenerateRule {
  const share = spectrumTolerance(what, options, shape.at(-1) ?? 0, dtype as LinalgDType);
  const isEqual = (w: ArrayLike<number>, i: number, j: number): boolean => {
    const largest = Math.max(Math.abs(w[0] ?? 0), Math.abs(w[w.length - 1] ?? 0));
    return i < j && Math.abs((w[j] ?? NaN) - (w[i] ?? NaN)) <= share * largest;
  };
  return { what, isEqual, reason: 'equal eigenvalues' };
}

/** Singular values, descending, that count as equal or as 0. @param extent the larger one of the matrix @throws MercerError INVALID_ARGUMENT */
export function equalSingularValues(
  what: string,
  extent: number,
  dtype: LinalgDType,
  options: SpectrumOptions,
): DegenerateRule {
  const share = spectrumTolerance(what, options, extent, dtype);
  const isEqual = (values: ArrayLike<number>, i: number, j: number): boolean => {
    const least = share * (values[0] ?? 0);
    const [x, y] = [values[i] ?? NaN, values[j] ?? NaN];
    return i === j ? x <= least : Math.abs(x - y) <= least;
  };
  const reason = 'singular values that are equal, or 0 where paired with themselves,';
  return { what, isEqual, reason };
}

/** Most pairs that a message spells out. */
const SHOWN_PAIRS = 4;

/** Waits for the values (..., n) and reports each spectrum with equal ones. */
export async function reportDegenerate(
  values: Tensor<LinalgDType>,
  { what, isEqual, reason }: DegenerateRule,
  onDegenerate: (warning: SpectrumWarning) => void,
  { signal }: BackwardOptions,
): Promise<void> {
  const n = values.shape.at(-1) ?? 0;
  assertNotPreparing(what);
  const all = await values.toTypedArray({ signal });
  for (let entry = 0; entry * n < all.length; entry++) {
    const own = all.subarray(entry * n, (entry + 1) * n);
    const pairs: [number, number][] = [];
    for (let i = 0; i < n; i++) {
      for (let j = i; j < n; j++) {
        if (isEqual(own, i, j)) pairs.push([i, j]);
        // values are in order: behind one that differs all do
        else if (j > i) break;
      }
    }
    if (pairs.length === 0) continue;
    const shown = pairs.slice(0, SHOWN_PAIRS).map(([i, j]) => `(${i}, ${j})`);
    const more = pairs.length > SHOWN_PAIRS ? ` and ${pairs.length - SHOWN_PAIRS} more` : '';
    onDegenerate({
      code: 'DEGENERATE_SPECTRUM',
      entry,
      pairs,
      message: `${what}: ${reason} at positions ${shown.join(', ')}${more} of batch entry ${entry}. Their terms of the gradient are 0; it is right for a loss that does not depend on the choice of basis there.`,
    });
  }
}

let warned = false;

/**
 * Says once, when the values are there, that a derivative by vectors lost terms. Nobody waits for that: a read that fails, or that `prepare` refuses, tells
 * nothing.
 */
export function warnDegenerate(values: KnownValue, rule: DegenerateRule): void {
  let one: unknown = values;
  while (isTracedKnown(one)) one = one.primal;
  if (warned || !isTensor(one)) return;
  const warn = ({ code, message }: SpectrumWarning): void => {
    if (warned) return;
    warned = true;
    process.emitWarning(message, { type: 'MercerWarning', code });
  };
  reportDegenerate(one as Tensor<LinalgDType>, rule, warn, {}).catch(() => undefined);
}
