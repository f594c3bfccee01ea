import { traitsOf, type ReductionKind } from '@mercer/formula';
import { reducerOf } from '../reducers/reducers-of.js';
import type { SumOptions, Reducer, ReducerDialect } from '../reducers/reducer.js';
import { rankedReducer } from './ranked-reducer.js';
import type { ColumnReduction } from './loop-formula.js';

/** How the columns of a reduction are reduced. */
export interface ColumnBlock extends ColumnReduction {
  readonly reduction: ReductionKind;
  readonly k: number;
  /** Columns of a block. */
  readonly block: number;
  /** How sums are added up where that is unusual. */
  readonly sums?: SumOptions | undefined;
}

/** The reduction of a block of columns; every kind has a `merge`. `unroll` stands before loops over ranks. */
export function blockReducer(
  { reduction: kind, k, block, sums }: ColumnBlock,
  dialect: ReducerDialect,
  unroll = '',
): Reducer {
  const { isExponential, takesK } = traitsOf(kind);
  const dims = isExponential ? { dim: 1, weightDim: block } : { dim: block, weightDim: 1 };
  return takesK
    ? rankedReducer({ kind, k, ...dims, dialect }, unroll)
    : reducerOf({ kind, k, ...dims, dialect, sums });
}

/** Where an entry of a block's results stands in a row of results. */
export interface ResultPlace {
  /** `offset + first column of the block`, or `offset` alone. */
  readonly offset: number;
  /** The column within the block; undefined: it is the same for all blocks. */
  readonly column?: number;
}

/** The place of entry `entry` of the results of a block. */
export function resultPlace(
  { reduction, block, columns }: ColumnBlock,
  entry: number,
): ResultPlace {
  if (reduction === 'MaxSumShiftExp') {
    return entry === 0 ? { offset: 0 } : { offset: entry, column: entry - 1 };
  }
  const column = entry % block;
  return { offset: Math.floor(entry / block) * columns + column, column };
}

/** Numbers of a row of results. */
export function resultWidth({ reduction, k, columns }: ColumnBlock): number {
  return reduction === 'MaxSumShiftExp' ? columns + 1 : columns * k;
}

/** Blocks of the columns of the reduction that has most. */
export const columnBlocks = ({ columns }: { readonly columns: readonly ColumnBlock[] }): number =>
  Math.max(...columns.map(blocksOf));

/** Blocks of a reduction's columns. */
export const blocksOf = ({ columns, block }: ColumnBlock): number => Math.ceil(columns / block);
