import type { Expr } from '@mercer/formula';
import type { ComponentLoad } from './loop-formula.js';

/** What a loop reads from a copy in fast memory, a part of the loop at a time. */
export interface StagedLoads {
  /** Steps of a part. */
  readonly steps: number;
  /** Stands before the loop. */
  readonly setup: string;
  /** Fetches the part that begins at step `first`. */
  readonly fetch: (first: string) => string;
  /** Makes what was fetched last the copy that is read. */
  readonly commit: string;
  /** Reads a load, by its name, at step `<counter>_step` of the part; `undefined`: it has no copy. */
  readonly read: (name: string, r: string, g: string) => string | undefined;
}

/** How a dialect writes a tile of pairs: `r` counts reduced rows and `g` kept rows, or vectors of them. */
export interface TileDialect {
  /** The text of `body` for every pair of the tile. */
  readonly each: (body: (r: string, g: string) => string) => string;
  /** Declares a value for every pair, called `name`. */
  readonly declare: (name: string, start: string) => string;
  readonly valueAt: (name: string, r: string, g: string) => string;
  readonly load: (load: ComponentLoad, r: string, g: string) => string;
  /** A load of the row `row` of a table, NaN where that is -1. */
  readonly taken: (load: ComponentLoad, row: string) => string;
  /** The number of the row of a table that the value `index` names, -1 where there is none. */
  readonly rowOfTable: (position: number, index: string) => string;
  readonly rowNumber: (axis: 'i' | 'j', r: string, g: string) => string;
  /** A whole number as a value. */
  readonly number: (text: string) => string;
  readonly lit: (value: number) => string;
  readonly statements: (
    exprs: readonly Expr[],
    names: readonly string[],
  ) => {
    readonly statements: readonly string[];
    readonly results: readonly string[];
    /** Instructions of the statements, about. */
    readonly issueSlots?: number;
  };
  /** What stands before a `for` that stays a loop. */
  readonly loopPragma: string;
  /** What stands before the loop over staged steps: all there are (`isWhole`), or fewer at the end; `issueSlots` are instructions of a pair in a step. */
  readonly stepsPragma?: (steps: {
    readonly isWhole: boolean;
    readonly steps: number;
    readonly issueSlots: number;
  }) => string;
  readonly stage?: (
    loads: readonly ComponentLoad[],
    counter: string,
    size: number,
  ) => StagedLoads | undefined;
}
