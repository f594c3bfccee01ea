import { MercerError, type Stream } from '@mercer/tensor';
import {
  launchReductions,
  loadReductions,
  type BoundInput,
  type CallShape,
  type LoadedReduction,
  type LoadOptions,
  type RangeArguments,
  type Results,
} from './call.js';
import { LazyError } from './lazy-error.js';
import { labelOf, type JointTask } from './task.js';

/** Reductions that the kernels of one pass compute. */
export interface Pass {
  readonly loaded: LoadedReduction;
  /** Their places among those of the call. */
  readonly places: readonly number[];
}

/**
 * Loads the kernels of a call: one pass for all reductions, or, where they are together more than one kernel takes, one for
 * each.
 *
 * @throws LazyError UNSUPPORTED where there is no kernel for one of them alone; the compiler's or the loader's error
 */
export async function loadPasses(
  task: JointTask,
  shape: CallShape,
  inputs: readonly (BoundInput | undefined)[],
  options: LoadOptions,
): Promise<readonly Pass[]> {
  const { what, reductions } = task;
  try {
    const loaded = await loadReductions(what, reductions, shape, inputs, options);
    return [{ loaded, places: [...reductions.keys()] }];
  } catch (error) {
    if (reductions.length === 1 || !isUnsupported(error)) throw error;
  }
  const passes: Pass[] = [];
  for (const [place, one] of reductions.entries()) {
    const label = labelOf(task, place);
    passes.push({
      loaded: await loadReductions(label, [one], shape, inputs, options),
      places: [place],
    });
  }
  return passes;
}

const isUnsupported = (error: unknown): boolean =>
  (error instanceof LazyError || error instanceof MercerError) && error.code === 'UNSUPPORTED';

/** Enqueues the passes of a call; `results` of all reductions, `ranges` of each pass. */
export function launchPasses(
  passes: readonly Pass[],
  shape: CallShape,
  inputs: readonly (BoundInput | undefined)[],
  results: readonly Results[],
  stream: Stream,
  ranges: readonly (RangeArguments | undefined)[],
): void {
  for (const [n, { loaded, places }] of passes.entries()) {
    const own = results.filter((_, place) => places.includes(place));
    launchReductions(loaded, shape, inputs, own, stream, ranges[n]);
  }
}
