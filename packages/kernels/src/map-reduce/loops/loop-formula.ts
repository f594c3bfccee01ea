import type { Category, Combine, RealExpr } from '@mercer/formula';

/** The counter of the loop over the components of the result of reduction number `n`. */
export const columnName = (n: number): string => (n === 0 ? 'column' : `column${n}`);

/** Whether a load is of a row of one side, whatever the row of the other is. */
export const isOfOneSide = ({ category }: Pick<ComponentLoad, 'category'>): boolean =>
  category === 'i' || category === 'j';

/** One component of an input, the number of the component known when the kernel runs. */
export interface ComponentLoad {
  /** The scalar variable that stands for it. */
  readonly name: string;
  readonly position: number;
  readonly category: Category;
  /** C++ text of the component's number. */
  readonly index: string;
  /** Where the number is `offset + step * counter`: what a tile can be copied by. */
  readonly line?: { readonly counter: string; readonly step: number; readonly offset: number };
  /** Whether it is the same for the whole of a pair of rows. */
  readonly constant: boolean;
  /** The row, where it is not that of the pair but taken by index. */
  readonly row?: TakenRow;
}

/** Which row of a table is read. */
export interface TakenRow {
  /** The scalar variable that stands for its number: of a {@link RowGather}, or a pair value. */
  readonly name: string;
  /** The sides whose rows the number depends on. */
  readonly follows: readonly ('i' | 'j')[];
}

/** A row that a formula takes by index, found once for a pair of rows. */
export interface RowGather {
  /** The scalar variable that stands for the row's number in the table, -1 where the table has no such row. */
  readonly name: string;
  /** Position of the table. */
  readonly position: number;
  /** Which root of `values` is the number before it is rounded. */
  readonly root: number;
}

/** A component's number as a value of the data type. */
export interface ComponentNumber {
  readonly name: string;
  readonly index: string;
}

/** A loop over `size` components that leaves one value. */
export interface ComponentLoop {
  /** The scalar variable that stands for the value. */
  readonly name: string;
  readonly counter: string;
  readonly size: number;
  readonly combine: Combine;
  /** The counter of the loop that it stands in; '' where it is the same for a pair of rows. */
  readonly parent: string;
  /** Which root of `values` it combines. */
  readonly root: number;
}

/** What a reduction takes of a formula: numbers of roots of `values`. */
export interface ColumnReduction {
  /** Components of the result; above 1 a loop computes them one by one. */
  readonly columns: number;
  /** The counter of that loop. */
  readonly counter: string;
  /** Pair values that it takes first, the value of a column, and more that it takes last. */
  readonly before: readonly number[];
  readonly column: number;
  readonly after: readonly number[];
}

/**
 * Formulas (and weights) over long vectors as scalar expressions and loops: plain data. Variables are
 * loads, numbers, loops, rows by index, row numbers, and `W0`, `W1` and so on, which stand for the pair values.
 */
export interface LoopFormula {
  readonly loads: readonly ComponentLoad[];
  readonly numbers: readonly ComponentNumber[];
  readonly loops: readonly ComponentLoop[];
  /** Rows by index, where there are any. */
  readonly gathers?: readonly RowGather[];
  readonly values: readonly RealExpr[];
  /** The most columns of a reduction. */
  readonly columns: number;
  readonly reductions: readonly ColumnReduction[];
  /**
   * Roots of `values`, in this order: `pair` values that are the same for all columns; what else reductions take; the bodies of the
   * loops; the numbers of rows by index.
   */
  readonly pair: number;
}

/** Roots that reductions of one column each take for a pair of rows, in order. */
export const takenRoots = ({ reductions }: LoopFormula): number[] =>
  reductions.flatMap(({ before, column, after }) => [...before, column, ...after]);
