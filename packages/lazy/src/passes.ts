import { aloneOf } from '@mercer/kernels';
import { MercerError, type Stream } from '@mercer/tensor';
import {
  isOnePass,
  launchReductions,
  loadReductions,
  type BoundInput,
  type CallShape,
  type ExampleInput,
  type LoadedReduction,
  type LoadOptions,
  type RangeArguments,
  type Results,
} from './call.js';
import { labelOf, type JointTask } from './task.js';

/** Reductions that the kernels of one pass compute. */
export interface Pass {
  readonly loaded: LoadedReduction;
  /** Their places among those of the call. */
  readonly places: readonly number[];
}

/**
 * Loads the kernels of a call: one pass for all reductions, or, where they are together more than one kernel takes or quicker
 * apart, one for each.
 *
 * @throws LazyError UNSUPPORTED where there is no kernel for one of them alone; the compiler's or the loader's error
 */
export async function loadPasses(
  task: JointTask,
  shape: CallShape,
  inputs: readonly (ExampleInput | undefined)[],
  options: LoadOptions,
): Promise<readonly Pass[]> {
  const { what, reductions } = task;
  const one = await onePass(what, reductions, shape, inputs, options);
  if (one !== undefined) return [{ loaded: one, places: [...reductions.keys()] }];
  const passes: Pass[] = [];
  for (const [place, reduction] of reductions.entries()) {
    const label = labelOf(task, place);
    const own = aloneOf(options, reduction);
    const loaded = await loadReductions(label, [reduction], shape, inputs, own);
    passes.push({ loaded, places: [place] });
  }
  return passes;
}

async function onePass(
  ...[what, reductions, shape, inputs, options]: Parameters<typeof loadReductions>
): Promise<LoadedReduction | undefined> {
  if (reductions.length === 1) return loadReductions(what, reductions, shape, inputs, options);
  if (!isOnePass(what, reductions, shape, inputs, options)) return undefined;
  try {
    return await loadReductions(what, reductions, shape, inputs, options);
  } catch (error) {
    // The interpreter, of which the limits of a device say nothing.
    if (error instanceof MercerError && error.code === 'UNSUPPORTED') return undefined;
    throw error;
  }
}

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
    launchReductions(loaded, shape, inputs, resultsOf(results, places), stream, ranges[n]);
  }
}

/** The results of one pass. */
export const resultsOf = (
  results: readonly Results[],
  places: Pass['places'],
): readonly Results[] => results.filter((_, place) => places.includes(place));
