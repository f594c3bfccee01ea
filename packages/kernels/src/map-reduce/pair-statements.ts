import { finish, type RealExpr } from '@mercer/formula';
import type { Gather } from './lowering/written-out.js';
import type { UnrolledPlan } from './plan-types.js';
import { gatheredComponents, usedComponents, type UsedComponents } from './used-components.js';

/** Expressions in a dialect. */
export interface PairStatements<H> {
  /** Declarations of what is shared, in order. */
  readonly statements: readonly string[];
  /** The value of each expression. */
  readonly results: readonly string[];
  readonly helpers: ReadonlySet<H>;
}

/** What a plan computes for a pair of rows, as statements. */
export interface PairText<H> extends PairStatements<H> {
  readonly used: UsedComponents;
}

/** How a dialect writes expressions of variables with these names, and loads a row by index. */
export interface PairDialect<H> {
  readonly write: (exprs: readonly RealExpr[], names: readonly string[]) => PairStatements<H>;
  /** Declares components of a row of a table from the statements that compute its number. */
  readonly load: (
    gather: Gather,
    components: ReturnType<typeof gatheredComponents>,
    index: PairStatements<H>,
  ) => string;
}

/** The text of a pair; rows by index are loaded first, in order of need. */
export function pairText<H>(plan: UnrolledPlan, { write, load }: PairDialect<H>): PairText<H> {
  const { values, gathers = [] } = plan;
  const read = [...values, ...gathers.map(({ index }) => index)];
  const used = finish(usedComponents(plan, read));
  const helpers = new Set<H>();
  const written = (exprs: readonly RealExpr[]): PairStatements<H> => {
    const text = write(exprs, used.names);
    text.helpers.forEach((helper) => helpers.add(helper));
    return text;
  };
  const loads = gathers.map((gather, n) =>
    load(gather, gatheredComponents(used, n), written([gather.index])),
  );
  const { statements, results } = written(values);
  return { used, helpers, results, statements: [...loads, ...statements] };
}
