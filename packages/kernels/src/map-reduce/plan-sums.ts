import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { PlanError } from '../plan-error.js';
import type { MapReduceProblem } from './problem.js';
import type { SumOptions, SumScheme } from './reducers/reducer.js';

/** Whether a reduction adds up what is rounded, so that it matters how. */
export const addsUp = (kind: ReductionKind): boolean =>
  kind === 'Sum' || kind === 'Mean' || traitsOf(kind).isExponential;

/** How components in memory are added up: there are no blocks of them, and compensated sums are closer than sums of blocks. */
export const binSums = (asked: SumOptions | undefined): SumOptions =>
  asked === undefined
    ? { scheme: 'kahan', inFloat64: false }
    : { ...asked, scheme: asked.scheme === 'block' ? 'direct' : asked.scheme };

/** Whether a reduction compares or counts: nothing of it is rounded, however sums beside it are added up. */
export const addsNothing = (kind: ReductionKind): boolean =>
  traitsOf(kind).extremum !== undefined || ['Any', 'All', 'Count'].includes(kind);

const SCHEMES: readonly SumScheme[] = ['block', 'direct', 'kahan'];

/** How a problem's sums are added up, `undefined` where nothing unusual is asked for. */
export function planSums({
  dtype,
  accumulate = dtype,
  sumScheme: scheme = 'block',
  ...problem
}: MapReduceProblem): SumOptions | undefined {
  if (!SCHEMES.includes(scheme)) {
    refuse(`there is no sum scheme '${scheme}'`, `Use one of ${SCHEMES.join(', ')}.`);
  }
  const inFloat64 = accumulate === 'float64' && dtype === 'float32';
  if (accumulate !== dtype && !inFloat64) {
    refuse(`sums of ${dtype} are accumulated in ${accumulate}`, 'Use the data type, or float64.');
  }
  if (scheme === 'block' && !inFloat64) return undefined;
  if (scheme === 'kahan' && inFloat64) {
    refuse(
      'sums are accumulated in float64 and compensated',
      "Use one of the two: float64 sums of scheme 'direct' are the closest.",
    );
  }
  const all = [problem.reduction, ...(problem.further ?? [])];
  const hasSum = all.some(({ kind }) => addsUp(kind));
  const other = all.find(({ kind }) => !addsUp(kind) && !(hasSum && addsNothing(kind)));
  if (other !== undefined) {
    refuse(
      `${other.kind} takes neither 'accumulate' nor 'sumScheme'`,
      `Leave them out, or plan it apart: they are for ${REDUCTION_KINDS.filter(addsUp).join(', ')}.`,
    );
  }
  return Object.freeze({ scheme, inFloat64 });
}

/**
 * A problem with one of its reductions alone, as a pass for each computes them: without the options of sums where nothing is added
 * up.
 */
export function aloneOf<P extends { readonly accumulate?: unknown; readonly sumScheme?: unknown }>(
  problem: P,
  { kind }: Pick<MapReduceProblem['reduction'], 'kind'>,
): Omit<P, 'accumulate' | 'sumScheme'> & {
  readonly [K in 'accumulate' | 'sumScheme']?: P[K] | undefined;
} {
  if (!addsNothing(kind)) return problem;
  return { ...problem, accumulate: undefined, sumScheme: undefined };
}

/** The options as a plan's line says them. */
export const sumsText = ({ scheme, inFloat64 }: SumOptions): string =>
  `${scheme} sums${inFloat64 ? ' in float64' : ''}`;

function refuse(problem: string, remedy: string): never {
  throw new PlanError('UNSUPPORTED', `cannot plan a map-reduce: ${problem}. ${remedy}`);
}
