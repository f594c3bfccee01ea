import {
  emitPairwise,
  planPairwise,
  type PairwisePlan,
  type PairwiseProblem,
} from '@mercer/kernels';
import type { Device } from '@mercer/tensor';
import { loadProblem, type CallLoadOptions, type LoadedProgram } from '@mercer/tensor/operation';
import { problemKey } from './problem-key.js';

/**
 * Plans a pairwise problem and loads its kernels, once per plan and device.
 *
 * @throws the compiler's or the loader's error; a failure is not remembered
 */
export function loadProgram(
  device: Device,
  problem: PairwiseProblem,
  { debug, signal, values }: CallLoadOptions,
): Promise<LoadedProgram<PairwisePlan>> {
  return loadProblem(
    device,
    {
      key: problemKey(problem),
      // The expressions are held, so that their ids, which are in the key, are not given to others.
      holds: problem,
      plan: (limits) => planPairwise(problem, limits),
      emit: emitPairwise,
    },
    { debug, signal, values },
  );
}
