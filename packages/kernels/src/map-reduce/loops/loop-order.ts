import { variables, type Expr } from '@mercer/formula';
import type { RowGather, ComponentLoop } from './loop-formula.js';

/** A loop with the expression that it combines. */
export interface ScheduledLoop extends ComponentLoop {
  readonly body: Expr;
}

/** A row by index with the expression of its number. Its counter is its own: nothing runs with it. */
export interface ScheduledGather extends RowGather {
  readonly counter: string;
  readonly parent: '';
  readonly body: Expr;
  /** Loads of the row. */
  readonly loads: readonly string[];
}

/** What has to be computed before what reads it. */
export type ScheduledStep = ScheduledLoop | ScheduledGather;

export const isLoop = (step: ScheduledStep): step is ScheduledLoop => 'combine' in step;

/**
 * The loops and rows by index that stand directly in the loop `parent` and that `roots` need, as groups in the order in which
 * they can run: the loops of a group have one counter, and none needs another's value.
 */
export function loopGroups(
  steps: readonly ScheduledStep[],
  parent: string,
  roots: readonly Expr[],
): ScheduledStep[][] {
  const byName = new Map(
    steps.flatMap((step) =>
      [step.name, ...(isLoop(step) ? [] : step.loads)].map((name) => [name, step] as const),
    ),
  );
  const levels = new Map<ScheduledStep, number>();
  // the same for loops that stand elsewhere
  const inside = new Map<ScheduledStep, number>();
  // the greatest level among the wanted loops below some expressions
  const levelOf = (exprs: readonly Expr[]): number => {
    const below = exprs
      .flatMap((expr) => variables(expr))
      .flatMap((name) => byName.get(name) ?? []);
    return below.reduce((most, loop) => {
      const known = levels.get(loop) ?? inside.get(loop);
      if (known !== undefined) return Math.max(most, known);
      const within = levelOf([loop.body]);
      if (loop.parent !== parent) {
        inside.set(loop, within);
        return Math.max(most, within);
      }
      levels.set(loop, within + 1);
      return Math.max(most, within + 1);
    }, 0);
  };
  levelOf(roots);
  const groups = new Map<string, ScheduledStep[]>();
  const sorted = [...levels].sort(([, a], [, b]) => a - b);
  for (const [loop, level] of sorted) {
    const key = `${level} ${loop.counter}`;
    groups.set(key, [...(groups.get(key) ?? []), loop]);
  }
  return [...groups.values()];
}
