import type { Tensor } from '@mercer/tensor';
import type { OptimiserState } from './optimiser.js';

/** A part of a state, as the state of something that knows nothing of the rest. It owns no tensor: it lasts as long as the whole. */
class StatePart implements OptimiserState {
  readonly optimiser: string;
  readonly whole: OptimiserState;
  readonly tensors: ReadonlyMap<string, Tensor>;
  step = 0;

  constructor(optimiser: string, whole: OptimiserState, tensors: ReadonlyMap<string, Tensor>) {
    this.optimiser = optimiser;
    this.whole = whole;
    this.tensors = tensors;
  }

  [Symbol.dispose](): void {
    // the tensors are the whole's
  }
}

const parts = new WeakMap<OptimiserState, Map<string, StatePart>>();

/** The part of a state with a key: the same object each time, so that what is under way for it is found again. */
export function partOf(
  whole: OptimiserState,
  key: string,
  optimiser: string,
  tensors: () => ReadonlyMap<string, Tensor>,
): OptimiserState {
  let own = parts.get(whole);
  if (own === undefined) parts.set(whole, (own = new Map<string, StatePart>()));
  let part = own.get(key);
  if (part === undefined) own.set(key, (part = new StatePart(optimiser, whole, tensors())));
  return part;
}

/** A state and its parts, and theirs. */
export const withParts = (state: OptimiserState): readonly OptimiserState[] => [
  state,
  ...[...(parts.get(state)?.values() ?? [])].flatMap(withParts),
];

/** What a state is a part of, or of what that is one; itself where it is whole. */
export const wholeOf = (state: OptimiserState): OptimiserState =>
  state instanceof StatePart ? wholeOf(state.whole) : state;
