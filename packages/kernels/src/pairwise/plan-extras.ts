import type { DiagonalMode, PairwiseProblem } from './problem.js';

/** The parts of a plan that only some problems have; absent where the problem lacks them. */
export interface PlanExtras {
  /** Names of the launch's parameters besides the scalar p. */
  readonly parameters?: readonly string[] | undefined;
  readonly symmetric?: true | undefined;
  readonly diagonal?: DiagonalMode | undefined;
}

/** What a plan keeps of a problem's optional parts. */
export function planExtras({ parameters = [], symmetric, diagonal }: PairwiseProblem): PlanExtras {
  return {
    parameters: parameters.length === 0 ? undefined : Object.freeze([...parameters]),
    symmetric: symmetric === true ? symmetric : undefined,
    diagonal,
  };
}
