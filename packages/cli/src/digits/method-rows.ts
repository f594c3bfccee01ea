import { formatMs, formatP } from '../output/format.js';
import type { DemoResult } from './demo-result.js';
import type { Score } from './score.js';

/** One line of the table of methods, in the terminal and in the report. */
export interface MethodRow {
  readonly method: string;
  readonly device: string;
  readonly score: Score;
  /** Under `TIME_HEADS`. */
  readonly times: readonly string[];
}

export const TIME_HEADS: readonly string[] = ['matrix', 'solve', 'answers', 'first call'];

/** What the times are, in sentences. */
export const TIMES_NOTE: readonly string[] = [
  'Matrix: distances to the training digits, or the kernel matrix of the training digits.',
  'Answers: copy and vote, or kernel, product and arg max.',
  'The first call of a matrix includes compiling its kernel, or reading it from the cache.',
];

/** Neighbours and regressions, device by device. */
export function methodRows(result: DemoResult): MethodRow[] {
  const neighbours = result.runs.map((run) => ({
    method: `${result.k} nearest, p = ${formatP(run.p)}`,
    device: run.device,
    score: run.classification,
    times: [formatMs(run.distanceMs), '-', formatMs(run.voteMs), formatMs(run.firstMs)],
  }));
  const regressions = result.ridge.map((run) => ({
    method: `ridge, ${run.kernel}`,
    device: run.device,
    score: run.score,
    times: [run.kernelMs, run.solveMs, run.predictMs, run.firstMs].map(formatMs),
  }));
  return [...neighbours, ...regressions];
}
