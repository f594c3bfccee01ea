import type { Reduction } from '@mercer/formula';
import type { PairwiseDType } from '../../dtype.js';

/** How sums are added up: of blocks, of terms one by one, or with what each addition lost. */
export type SumScheme = 'block' | 'direct' | 'kahan';

/** How a reducer adds up sums. */
export interface SumOptions {
  readonly scheme: SumScheme;
  /** Running sums of type `W`, float64, of values of type `V`, float32. */
  readonly inFloat64: boolean;
}

/** What reducers do where nothing is said. */
export const PLAIN_SUMS: SumOptions = { scheme: 'block', inFloat64: false };

/**
 * Kahan's addition (CACM 8, 1965): `low` is what `total` has too much. What is infinite or NaN loses nothing.
 */
export const compensatedText = (zero: string): string =>
  `INLINE void compensated(V& total, V& low, V f) {
  const V wanted = f - low, next = total + wanted, lost = (next - total) - wanted;
  low = lost - lost == ${zero} ? lost : ${zero};
  total = next;
}`;

/** How a dialect writes numbers and functions of the type `V`: a value, or a vector of values, one per kept row. */
export interface ReducerDialect {
  readonly lit: (value: number) => string;
  readonly exp: (x: string) => string;
  readonly log: (x: string) => string;
  readonly abs: (x: string) => string;
  /** The larger, NaN if either is NaN; without it rows are added one by one. */
  readonly larger?: ((x: string, y: string) => string) | undefined;
  /** What one thread does at a time with one value after the other; without it there are vectors of values. */
  readonly scalar?: ScalarDialect | undefined;
  /** What vectors can do where rows of a single reduction are added several at a time. */
  readonly vector?: VectorDialect | undefined;
}

/** How powers of two and conditions on `V` are written. */
export interface Base2Dialect {
  readonly fma: (x: string, y: string, z: string) => string;
  /** 2^x; of a whole number it is exact. */
  readonly exp2: (x: string) => string;
  readonly round: (x: string) => string;
  readonly either: (condition: string, other: string) => string;
  /** Whether a condition holds for all of `V`. */
  readonly always: (condition: string) => string;
}

/** What vectors of values, one per kept row, can do beside. */
export interface VectorDialect {
  /** The smaller or the larger of two numbers; with a NaN it is any of both. */
  readonly smaller: (x: string, y: string) => string;
  readonly larger: (x: string, y: string) => string;
  /** Absent where multiply-adds round twice. */
  readonly base2?: Base2Dialect;
}

/** What `float` in a thread of its own can do beside. */
export interface ScalarDialect extends Base2Dialect {
  readonly smaller: (x: string, y: string) => string;
  /** The number of the lowest bit that is set in an `unsigned` that is not 0. */
  readonly lowestBit: (bits: string) => string;
}

/** A member of the running result of a kept row: of type `V`, `I` (whole numbers), or `W` (float64 where `V` is float32). */
export interface Accumulator {
  readonly name: string;
  readonly type: 'V' | 'I' | 'W';
  /** Its value where no row was seen. */
  readonly empty: string;
}

/**
 * A reduction as C++ text, the same in both dialects: a `State s` is what was seen so far, `State t` is
 * what was seen of later rows. `V` compares to `I`, and `I ? V : V` selects.
 */
export interface Reducer {
  readonly accumulators: readonly Accumulator[];
  /** Declarations of the members, where the accumulators are elements of arrays. */
  readonly members?: string | undefined;
  /** How many values `f0`, `f1` and so on `add` takes for a row, beside its number `row` (an `I`). */
  readonly arity: number;
  /** Statements that add a row to `s`. */
  readonly add: string;
  /** Statements that add `t` to `s`. */
  readonly merge: string;
  /** The results `value`, from `s` and, where it reads that, `count`, the number of rows (a `V`). */
  readonly value: readonly string[];
  readonly readsCount?: boolean | undefined;
  /** The results `index`, row numbers from `s`. */
  readonly index: readonly string[];
  /** Whether rounding grows with the rows seen, so that sums are to be taken in blocks. */
  readonly rounds: boolean;
  /**
   * What a block is summed in where that is no `State`: its members, statements that add a row to a block `s`, and
   * statements that add a block `t` to a state `s`.
   */
  readonly block?:
    | {
        readonly accumulators: readonly Accumulator[];
        readonly add: string;
        readonly merge: string;
      }
    | undefined;
  /** A state of no rows to go on with beside `total`; default `empty()`. */
  readonly beside?: ((total: string) => string) | undefined;
  /**
   * Statements that add several rows to the state `s` at less cost than one by one, for values `V` alone: a list of
   * arguments for each row, as names or literals, its number last; the numbers of rows follow each other. The caller
   * gives `slow`, which adds them one by one.
   */
  readonly several?:
    ((s: string, rows: readonly (readonly string[])[], slow: string) => string) | undefined;
  /** Functions beside the state that `add` calls. */
  readonly functions?: string | undefined;
}

/** What a reducer is made from. */
export interface ReducerParts {
  readonly kind: Reduction['kind'];
  /** Components of the formula. */
  readonly dim: number;
  /** Components of the weight; 1 where there is none. */
  readonly weightDim: number;
  readonly k: number;
  readonly dialect: ReducerDialect;
  /** How sums are added up. Default: of blocks, in the data type. */
  readonly sums?: SumOptions | undefined;
}

/** Words of the data type that a member of a running result takes. */
export const accumulatorWords = ({ type }: Accumulator, dtype: PairwiseDType): 1 | 2 =>
  type === 'W' && dtype === 'float32' ? 2 : 1;

/** Words of the data type that a running result takes. */
export const wordsOf = (accumulators: readonly Accumulator[], dtype: PairwiseDType): number =>
  accumulators.reduce((sum, accumulator) => sum + accumulatorWords(accumulator, dtype), 0);
