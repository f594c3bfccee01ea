import { isOnlyCaptured, isPreparing } from '@mercer/tensor/operation';
import type { OptimiserState } from './optimiser.js';

/** States with a step that was captured, which is replayed without a call of `step`. */
const replayed = new WeakSet<OptimiserState>();

/** Steps of a state before the next one: of one whose steps are replayed the device counts them, and is waited for. */
export async function stepsTaken(state: OptimiserState): Promise<number> {
  if (!replayed.has(state) || isPreparing()) return state.step;
  const [count, skips] = [state.tensors.get('count'), state.tensors.get('skips')];
  state.step = Number(await count?.item()) + Number(await skips?.item());
  return state.step;
}

/** Notes a step. One that is captured is none yet: it is taken in replays. */
export function noteStep(state: OptimiserState, step: number): void {
  if (isOnlyCaptured()) replayed.add(state);
  else state.step = step;
}
