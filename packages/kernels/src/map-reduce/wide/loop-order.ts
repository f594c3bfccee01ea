import { variables, type Expr } from '@mercer/formula';
import type { WideLoop } from './wide-formula.js';

/** A loop with the expression that it combines. */
export interface ScheduledLoop extends WideLoop {
  readonly body: Expr;
}

/**
 * The loops that stand directly in the loop `parent` and that `roots` need, as groups in the order in which
 * they can run: the loops of a group have one counter, and none needs another's value.
 */
export function loopGroups(
  loops: readonly ScheduledLoop[],
  parent: string,
  roots: readonly Expr[],
): ScheduledLoop[][] {
  const byName = new Map(loops.map((loop) => [loop.name, loop]));
  const levels = new Map<ScheduledLoop, number>();
  // the greatest level among the wanted loops below some expressions
  const levelOf = (exprs: readonly Expr[]): number => {
    const below = exprs
      .flatMap((expr) => variables(expr))
      .flatMap((name) => byName.get(name) ?? []);
    return below.reduce((most, loop) => {
      const known = levels.get(loop);
      if (known !== undefined) return Math.max(most, known);
      const inside = levelOf([loop.body]);
      if (loop.parent !== parent) return Math.max(most, inside);
      levels.set(loop, inside + 1);
      return Math.max(most, inside + 1);
    }, 0);
  };
  levelOf(roots);
  const groups = new Map<string, ScheduledLoop[]>();
  const sorted = [...levels].sort(([, a], [, b]) => a - b);
  for (const [loop, level] of sorted) {
    const key = `${String(level)} ${loop.counter}`;
    groups.set(key, [...(groups.get(key) ?? []), loop]);
  }
  return [...groups.values()];
}
