import { flatArguments, isTracedKnown } from '@mercer/tensor/operation';
import { Recording, type FinishedCall } from './recording.js';

/** Asserts that a value may be read. */
export type ReadCheck = () => void;

/**
 * A trace that only owns what is computed: rules run on its values, and what they make between is disposed with it. A value's record is a
 * {@link ReadCheck} or undefined.
 */
export class Owning extends Recording {
  protected override readonly differentiates = false;

  protected override recordsOf({ args }: FinishedCall): readonly unknown[] {
    for (const one of flatArguments(args))
      if (isTracedKnown(one) && one.trace === this) (one.record as ReadCheck | undefined)?.();
    return [];
  }
}
