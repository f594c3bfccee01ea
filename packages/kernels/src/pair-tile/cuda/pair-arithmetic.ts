import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent } from '../../emit/text.js';

/** The new accumulator for one pair, as text; `place` is the pair's number in the thread's tile. */
export type StepText = (accumulator: string, x: string, y: string, place: string) => string;

/** Other arithmetic for launches or batch entries of which a condition holds. */
export interface PairCase {
  /** The condition as text, in the locals of `setup`; the same for all pairs of a batch entry. */
  readonly when: string;
  readonly step: StepText;
  /** The step is so many instructions that a kernel should not print it for every pair of a tile. */
  readonly long?: boolean;
}

/** What one pair (row element x, column element y) adds to its accumulator, as text. */
export interface PairStep {
  /** Math helpers that the step and the epilogue need. */
  readonly helpers: ReadonlySet<CudaHelper>;
  /** Device functions. */
  readonly functions: string;
  /** Locals at the top of the kernel; they may read the parameters `k` and `p`. */
  readonly setup: string;
  /** Whether `setup` reads the parameters of a batch entry, and so needs `layer`. */
  readonly perLayer?: boolean;
  readonly step: StepText;
  /** What takes the place of `step` where its condition holds, the first that does. */
  readonly cases?: readonly PairCase[];
  /** Two partial accumulators into one. */
  readonly combine: (x: string, y: string) => string;
  /** Instructions of the arithmetic pipe and of the special-function unit per pair. */
  readonly issueSlots: number;
  readonly special: number;
}

/**
 * The loops over pairs, as text, once for each case of the step: the branch is outside of them, so that
 * it costs nothing per pair. `loops` gets the step to print, and whether it is long.
 */
export function everyCase(
  { step, cases = [] }: Pick<PairStep, 'step' | 'cases'>,
  loops: (step: StepText, long: boolean) => string,
): string {
  if (cases.length === 0) return loops(step, false);
  const branches = cases.map(
    ({ when, step: own, long = false }) => `if (${when}) {\n${indent(loops(own, long))}\n} else `,
  );
  return `${branches.join('')}{\n${indent(loops(step, false))}\n}`;
}
