import type { VectorExpr } from '@mercer/formula';
import { own, type OptionNames } from '@mercer/options';
import {
  isTensor,
  MercerError,
  type Device,
  type DType,
  type ShardOptions,
  type Tensor,
} from '@mercer/tensor';
import { checkOut, LOAD_OPTIONS, SHARD_OPTIONS, type MemoryView } from '@mercer/tensor/operation';
import { partsOf } from './gradient-outs.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import type { LazyOperand } from './lazy-formula.js';
import type { PairCall } from './pair-call.js';
import type { ReduceOptions } from './reduction-types.js';

/** Options of `nonzero`. */
export interface NonzeroOptions
  extends
    Pick<ReduceOptions, 'stream' | 'device' | 'dtype' | 'ranges' | 'debug' | 'signal'>,
    ShardOptions {
  /** What is also computed for every pair that is found. */
  readonly values?: LazyOperand | undefined;
  /** Takes the results, some or all. */
  readonly out?: SelectedPairsOut | undefined;
}

/**
 * Where the results of `nonzero` are to go: `offsets` of its exact shape; `indices` and `values` with room for as many pairs as there are or
 * more. The results are views of them with the pairs alone, and what lies behind stays as it was. They share no memory with what is read,
 * nor with each other; any strides will do.
 */
export interface SelectedPairsOut {
  readonly offsets?: Tensor<'int64'> | undefined;
  readonly indices?: Tensor<'int32'> | undefined;
  readonly values?: Tensor<LazyDType> | undefined;
}

/** Names of {@link NonzeroOptions}. */
export const NONZERO_OPTIONS: OptionNames<NonzeroOptions> = {
  values: true,
  out: true,
  stream: true,
  device: true,
  dtype: true,
  ranges: true,
  ...LOAD_OPTIONS,
  ...SHARD_OPTIONS,
};

/** Pairs of rows as a sparse matrix in compressed rows (CSR): a kept row's pairs stand from its offset to the next. */
export interface SelectedPairs<D extends LazyDType = LazyDType> {
  /** Where the pairs of each kept row begin, batch entry after batch entry, and at last how many there are: batch * rows + 1. */
  readonly offsets: Tensor<'int64'>;
  /** The row numbers of the reduced side, ascending for each kept row. */
  readonly indices: Tensor<'int32'>;
  /** (pairs, dim), where values were asked for. */
  readonly values?: Tensor<D>;
}

export const WHAT = 'nonzero';

/** @throws LazyError DIM_MISMATCH */
export function checkMask(dim: number): void {
  if (dim === 1) return;
  throw new LazyError(
    'DIM_MISMATCH',
    `nonzero: the mask has dim ${dim}. Pass one number for every pair, such as a comparison of distances, or take min('dim') or max('dim') of it.`,
  );
}

/** Counts are numbers of the dtype. @throws LazyError UNSUPPORTED */
export function checkCounts(rows: number, dtype: LazyDType): void {
  if (rows <= WHOLE_UP_TO[dtype]) return;
  throw new LazyError(
    'UNSUPPORTED',
    `nonzero: the reduced side has ${rows} rows, and counts are whole in ${dtype} up to ${WHOLE_UP_TO[dtype]}. Compute it in float64, or split that side.`,
  );
}

/** What the caller gave for the results. @throws LazyError INVALID_ARGUMENT */
export function readOuts(out: unknown, values: VectorExpr | undefined): SelectedPairsOut {
  if (out === undefined) return { offsets: undefined, indices: undefined, values: undefined };
  const names = ['offsets', 'indices', ...(values === undefined ? [] : ['values'])];
  const parts: SelectedPairsOut = partsOf(WHAT, 'out', out, names);
  return own(parts, 'offsets', 'indices', 'values');
}

/** What the results of a selection are checked against. */
interface SelectedSizes extends Pick<PairCall, 'sizes'> {
  /** Where a tensor for results has to be. */
  readonly deviceOf: (out: Tensor) => Device;
  readonly rows: number;
  readonly valueDim: number;
}

/** Checks the tensors that a caller gave, but for how many pairs they take. @throws MercerError as `checkOut` does */
export function checkOuts(
  { offsets, indices, values }: SelectedPairsOut,
  { rows, sizes, deviceOf, valueDim }: SelectedSizes,
  read: readonly MemoryView[],
): void {
  const taken = [...read];
  const check = (name: string, out: Tensor | undefined, shape: number[], dtype: DType): void => {
    if (out === undefined) return;
    checkOut(out, { shape, dtype, device: deviceOf(out) }, taken, `${WHAT}: ${name}`);
    taken.push(out);
  };
  check('offsets', offsets, [rows + 1], 'int64');
  check('indices', indices, [roomOf(indices)], 'int32');
  check('values', values, [roomOf(values), valueDim], sizes.dtype);
}

/** For how many pairs a tensor has room. */
const roomOf = (out: Tensor | undefined): number => (isTensor(out) ? (out.shape[0] ?? 0) : 0);

/** The part of a tensor that pairs take. @throws MercerError SHAPE_MISMATCH */
export function partFor<T extends Tensor>(
  name: string,
  out: T | undefined,
  pairs: number,
): T | undefined {
  if (out === undefined) return undefined;
  if (roomOf(out) < pairs) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${WHAT}: ${name}: out has room for ${roomOf(out)} pairs, and there are ${pairs}. Pass a tensor with as many rows.`,
    );
  }
  return out.slice([0, pairs]) as T;
}
