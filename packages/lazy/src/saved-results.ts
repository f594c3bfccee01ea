import {
  ops,
  reduction as describe,
  type Reduction,
  type ReductionKind,
  type SavedResults,
  type VectorExpr,
} from '@mercer/formula';
import type { ShardOptions, Tensor } from '@mercer/tensor';
import { shardsOf } from '@mercer/tensor/operation';
import { own } from '@mercer/options';
import { computed } from './reductions.js';
import type { ComputeOptions } from './reduction-types.js';
import { NO_RESULTS, computeOptionsOf, type Results } from './results.js';
import type { CallOptions } from './call-options.js';
import { commonExtent } from './extent.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { total, type GroupRows } from './shards/reduction-group.js';
import { jointly, type Task } from './task.js';
import { isDifferentiated, isTensorLike } from './traced-inputs.js';

/** Results of the forward pass that a caller has kept, so that they are not computed again. */
export interface SavedForward {
  /** The result itself, of LogSumExp and SumSoftMaxWeight. */
  readonly values?: Tensor | undefined;
  /** The row numbers, of Min, Max, KMin, KMax and their kin. */
  readonly indices?: Tensor<'int32'> | undefined;
}

/** Options of what derivatives compute of the forward pass. */
export interface SavedOptions
  extends
    ComputeOptions,
    ShardOptions,
    Pick<CallOptions, 'stream' | 'ranges' | 'group' | 'signal' | 'debug'> {
  readonly saved?: SavedForward | undefined;
}

/** How what is saved becomes an input of the derivative. */
export interface SavedInputs {
  readonly rows: (x: Tensor) => VectorExpr;
  readonly count: (rows: number) => VectorExpr;
}

/** Where what derivatives need of the forward pass is computed, and what of it there is. */
export interface SavedCall extends Omit<SavedOptions, 'group'>, Pick<CallOptions, 'device'> {
  /** The rows of the reduced side, where they are spread over a group. */
  readonly spread?: GroupRows | undefined;
}

/** What the derivative needs of the forward pass, as inputs of the kept side; what is computed for it is pushed to `made`. */
export async function savedNodes(
  what: string,
  task: Task,
  options: SavedCall,
  made: Tensor[],
  node: SavedInputs,
): Promise<SavedResults> {
  const { stream, device, ranges, debug, signal, spread } = options;
  const saved = own(options.saved ?? {}, 'values', 'indices');
  const { kind, formula, axis } = task.reduction;
  const run = async (reduction: Reduction): Promise<Results> => {
    const where = {
      stream,
      device,
      ranges,
      debug,
      signal,
      group: spread?.group,
      ...shardsOf(options),
    };
    const call = { ...where, ...computeOptionsOf(reduction, options) };
    const one = jointly({ ...task, what, reduction });
    const [results = NO_RESULTS] = await computed(one, [], call);
    made.push(...[results.value, results.index].filter((one) => one !== undefined));
    return results;
  };
  const keep = (x: Tensor | undefined): VectorExpr => {
    if (!isTensorLike(x)) throw new Error('a reduction gives what its kind says');
    return node.rows(x);
  };
  const { rowsI = 1, rowsJ = 1, dtype = 'float32' } = commonExtent(what, task.inputs);
  const reduced = spread === undefined ? (axis === 1 ? rowsJ : rowsI) : total(spread.rows);
  // With ranges each kept row has a count of its own.
  const count = async (): Promise<VectorExpr> =>
    ranges === undefined
      ? node.count(reduced)
      : keep((await run(describe('Count', 1, { axis }))).value);
  if (kind === 'Mean') return { count: await count() };
  if (kind === 'Var') {
    const { value } = await run(describe('Mean', formula, { axis }));
    return { count: await count(), mean: keep(value) };
  }
  if (kind === 'Prod') {
    const isZero = ops.equal(formula, 0);
    const { value } = await run(describe('Prod', ops.where(isZero, 1, formula), { axis }));
    const zeros = await run(describe('Count', isZero, { axis }));
    const known = { product: keep(value), zeros: keep(zeros.value) };
    if (!task.inputs.some(isDifferentiated)) return known;
    const zero = ops.where(isZero, formula, 0);
    const sum = await run(describe('Sum', zero, { axis }));
    const squares = await run(describe('Sum', ops.square(zero), { axis }));
    return { ...known, zeroSum: keep(sum.value), zeroSquares: keep(squares.value) };
  }
  if (kind === 'LogSumExp') {
    return { value: keep(saved.values ?? (await run(task.reduction)).value) };
  }
  if (kind === 'SumSoftMaxWeight') {
    const { value } = await run(describe('LogSumExp', formula, { axis }));
    return {
      value: keep(saved.values ?? (await run(task.reduction)).value),
      logSumExp: keep(value),
    };
  }
  const finder = INDEX_KIND[kind];
  if (finder === undefined) return {};
  checkExact(what, reduced, dtype);
  const { k } = task.reduction;
  const indices =
    saved.indices ??
    (await run(describe(finder, formula, { axis, ...(k !== undefined && { k }) }))).index;
  const numbers = await indices?.cast(dtype, { stream, signal });
  if (numbers !== undefined) made.push(numbers);
  return { index: keep(numbers) };
}

/** What finds the rows whose values a kind gives. */
const INDEX_KIND: { readonly [K in ReductionKind]?: ReductionKind } = {
  Min: 'ArgMin',
  Max: 'ArgMax',
  MinArgMin: 'ArgMin',
  MaxArgMax: 'ArgMax',
  KMin: 'ArgKMin',
  KMinArgKMin: 'ArgKMin',
  KMax: 'ArgKMax',
  KMaxArgKMax: 'ArgKMax',
};

function checkExact(what: string, rows: number, dtype: LazyDType): void {
  if (rows <= WHOLE_UP_TO[dtype]) return;
  throw new LazyError(
    'UNSUPPORTED',
    `${what}: the reduced side has ${rows} rows, and row numbers are whole in ${dtype} up to ${WHOLE_UP_TO[dtype]}. Compute it in float64.`,
  );
}
