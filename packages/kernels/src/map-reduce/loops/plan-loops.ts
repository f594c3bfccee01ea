import {
  constant,
  simplifyAllSteps,
  traitsOf,
  variablesOfAll,
  type RealExpr,
  type Reduction,
  type Steps,
} from '@mercer/formula/plan';
import type { InputReads } from '../plan-inputs.js';
import { PAIR_TILE_LIMITS } from '../choose-schedule.js';
import { counterIndex, fixedIndex } from '../lowering/index-expr.js';
import { lowering, type LoweringOptions } from '../lowering/lower.js';
import { splitPairValues } from './pair-values.js';
import { columnName, type LoopFormula, type ColumnReduction } from './loop-formula.js';

/** Long sums are loops. */
const LOOPS: LoweringOptions = {
  longest: 8,
  values: PAIR_TILE_LIMITS.values,
  rowName: 'G',
  loadName: (_, __, ___, n) => `L${n}`,
};

/** Formulas and weights of reductions as loops and scalar expressions. */
export function* planLoops(reductions: readonly Reduction[]): Steps<LoopFormula> {
  const lowered = lowering(LOOPS);
  const one = constant(1);
  const parts: {
    readonly columns: number;
    readonly before: RealExpr[];
    readonly main: RealExpr;
  }[] = [];
  for (const [n, { kind, formula, weight }] of reductions.entries()) {
    const columns = Math.max(formula.dim, weight?.dim ?? 1);
    const at = function* (part: typeof formula): Steps<RealExpr> {
      const index = part.dim > 1 ? counterIndex(columnName(n), columns) : fixedIndex(0);
      const value = yield* lowered.at(part, index);
      const [simplified = value] = yield* simplifyAllSteps([value]);
      return simplified;
    };
    const { isExponential } = traitsOf(kind);
    const before = isExponential ? [yield* at(formula)] : [];
    const added = isExponential ? weight : formula;
    parts.push({ columns, before, main: added === undefined ? one : yield* at(added) });
  }
  const columns = Math.max(...parts.map((part) => part.columns));
  const first = parts.flatMap(({ before }) => before);
  const mains = parts.map(({ main }) => main);
  const { numbers, gathers } = lowered;
  const {
    pair,
    columns: values,
    loops,
    loads,
  } = columns > 1
    ? yield* splitPairValues(mains, first, lowered)
    : { pair: first, columns: mains, loops: lowered.loops, loads: lowered.loads };
  const exprs = [...pair];
  let taken = 0;
  const all = reductions.map(({ kind }, n): ColumnReduction => {
    const { before = [], columns = 1 } = parts[n] ?? {};
    const column = exprs.push(values[n] ?? one) - 1;
    // a sum of weights needs the sum of ones beside it
    const after = kind === 'SumSoftMaxWeight' ? [exprs.push(one) - 1] : [];
    return Object.freeze({
      columns,
      counter: columnName(n),
      before: before.map(() => taken++),
      column,
      after,
    });
  });
  return Object.freeze({
    loads: Object.freeze(loads),
    numbers: Object.freeze(numbers),
    columns,
    reductions: Object.freeze(all),
    loops: Object.freeze(
      loops.map(({ name, counter, size, combine, parent }, k) =>
        Object.freeze({ name, counter, size, combine, parent, root: exprs.length + k }),
      ),
    ),
    ...(gathers.length > 0 && {
      gathers: Object.freeze(
        gathers.map(({ name, position }, k) =>
          Object.freeze({ name, position, root: exprs.length + loops.length + k }),
        ),
      ),
    }),
    values: Object.freeze([
      ...exprs,
      ...loops.map(({ body }) => body),
      ...gathers.map(({ index }) => index),
    ]),
    pair: pair.length,
  });
}

/** How a formula with loops reads inputs. */
export function readsOfLoops({ loads, gathers = [], values }: LoopFormula): InputReads {
  const names = new Set(variablesOfAll(values));
  const rows = new Set(
    loads
      .filter(({ row, name }) => row === undefined && names.has(name))
      .map(({ position }) => position),
  );
  return {
    isTable: (position) => gathers.some((gather) => gather.position === position),
    isRead: ({ position }) => rows.has(position),
  };
}
