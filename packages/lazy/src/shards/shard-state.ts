import type { MergeRule, PartialResult } from './merge-rules.js';

/** What is known of some reductions of a kept block, each by its rule; or their results, where the reduced side is one block. */
export type ShardState = readonly PartialResult[];

/** Both states as one; they are taken over. */
export async function merged(
  rules: readonly MergeRule[],
  a: ShardState,
  b: ShardState,
): Promise<ShardState> {
  const all: PartialResult[] = [];
  try {
    for (const [at, rule] of rules.entries()) {
      const [before, after] = [a[at] as PartialResult, b[at] as PartialResult];
      const tensors = await rule.merge(before, after);
      all.push({ tensors, rows: before.rows + after.rows });
    }
    return all;
  } catch (error) {
    disposeState(all);
    throw error;
  } finally {
    disposeState(a);
    disposeState(b);
  }
}

export function disposeState(state: ShardState | undefined): void {
  for (const { tensors } of state ?? []) for (const one of tensors) one.dispose();
}
