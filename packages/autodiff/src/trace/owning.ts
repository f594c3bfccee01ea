import { isTensor } from '@mercer/tensor';
import { isTracedKnown } from '@mercer/tensor/operation';
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
    for (const one of args.flat)
      if (isTracedKnown(one) && one.trace === this) (one.record as ReadCheck | undefined)?.();
    return [];
  }
}

/** Values with the tensors that they stand for, and the trace that owns these. */
export interface Plain {
  readonly owner: Owning | undefined;
  readonly values: readonly unknown[];
}

/**
 * What values stand for, where no trace knows of them but one that only owns; undefined where one does. Who computes with that can give memory back on the way, which
 * the owner would keep until it ends.
 */
export async function plainOf(given: readonly unknown[]): Promise<Plain | undefined> {
  let owner: Owning | undefined;
  const values: unknown[] = [];
  for (const one of given) {
    if (!isTracedKnown(one)) {
      values.push(one);
      continue;
    }
    const { trace, primal, record } = one;
    if (!(trace instanceof Owning) || isTracedKnown(primal)) return undefined;
    owner ??= trace;
    (record as ReadCheck | undefined)?.();
    values.push(isTensor(primal) ? primal : await primal);
  }
  return { owner, values };
}
