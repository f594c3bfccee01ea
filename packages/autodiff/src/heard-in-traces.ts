import { isTensor } from '@mercer/tensor';
import { isTraced } from '@mercer/tensor/operation';
import { isRecord } from './tree.js';

/**
 * The same function. Where its arguments are traced it is called in one that is differentiated, whose value does not depend on what nobody awaits there: that
 * ends in no unhandled rejection, as other operations do not.
 */
export const heardInTraces =
  <A extends readonly unknown[], R>(
    call: (...args: A) => Promise<R>,
  ): ((...args: A) => Promise<R>) =>
  (...args) => {
    const result = call(...args);
    if (holdsTraced(args)) result.catch(() => undefined);
    return result;
  };

/** Whether a tree holds a traced value. It may be part of itself, which the call refuses. */
export function holdsTraced(tree: unknown, seen = new Set<unknown>()): boolean {
  if (isTraced(tree)) return true;
  if (isTensor(tree) || !(Array.isArray(tree) || isRecord(tree)) || seen.has(tree)) return false;
  seen.add(tree);
  return Object.values(tree).some((one) => holdsTraced(one, seen));
}
