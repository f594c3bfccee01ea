import type { OptionNames } from '@mercer/options';
import { empty, tensor, type Stream, type Tensor } from '@mercer/tensor';
import { LOAD_OPTIONS } from '@mercer/tensor/operation';
import {
  keptRows,
  launchArguments,
  type BoundInput,
  type CallShape,
  type RangeArguments,
} from './call.js';
import { placeCall, type CallOptions, type PlacedCall } from './execute.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import type { LazyOperand } from './lazy-formula.js';
import { rangeTensors } from './range-tensors.js';
import type { ReduceOptions } from './reduction-types.js';
import { checkRows } from './results.js';
import { launchSelection, loadSelection, type LoadedSelection } from './selection.js';
import type { Merged } from './symbolic.js';
import { checkBound } from './transforms.js';

/** Options of `nonzero`. */
export interface NonzeroOptions extends Pick<
  ReduceOptions,
  'stream' | 'device' | 'dtype' | 'ranges' | 'debug' | 'signal'
> {
  /** What is also computed for every pair that is found. */
  readonly values?: LazyOperand | undefined;
}

/** Names of {@link NonzeroOptions}. */
export const NONZERO_OPTIONS: OptionNames<NonzeroOptions> = {
  values: true,
  stream: true,
  device: true,
  dtype: true,
  ranges: true,
  ...LOAD_OPTIONS,
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

const WHAT = 'nonzero';

/** The pairs at which the first formula is not 0, with the values of the second if there is one. */
export async function nonzeroPairs(
  { formulas, inputs }: Merged,
  axis: 0 | 1,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  checkBound(WHAT, inputs);
  checkMask(formulas[0]?.dim ?? 0);
  const made: Tensor[] = [];
  try {
    const call = await placeCall({ what: WHAT, formulas, inputs }, options, made);
    const { shape } = call;
    const reduced = keptRows({ axis: axis === 1 ? 0 : 1 }, shape);
    checkRows(WHAT, reduced);
    checkCounts(reduced, shape.dtype);
    const loaded = await loadSelection(WHAT, formulas, axis, call, options);
    const offsets = exclusiveSums(await countPairs(loaded, axis, call, options, made));
    return await writePairs(loaded, axis, call, offsets, options, made);
  } finally {
    for (const one of made) one.dispose();
  }
}

function checkMask(dim: number): void {
  if (dim === 1) return;
  throw new LazyError(
    'DIM_MISMATCH',
    `nonzero: the mask has dim ${dim}. Pass one number for every pair, such as a comparison of distances, or take min('dim') or max('dim') of it.`,
  );
}

/** Counts are numbers of the dtype. */
function checkCounts(rows: number, dtype: LazyDType): void {
  if (rows <= WHOLE_UP_TO[dtype]) return;
  throw new LazyError(
    'UNSUPPORTED',
    `nonzero: the reduced side has ${rows} rows, and counts are whole in ${dtype} up to ${WHOLE_UP_TO[dtype]}. Compute it in float64, or split that side.`,
  );
}

/** How many pairs every kept row has, on the host. */
async function countPairs(
  { counts }: LoadedSelection,
  axis: 0 | 1,
  { shape, bound }: PlacedCall,
  options: CallOptions,
  made: Tensor[],
): Promise<ArrayLike<number>> {
  const { device, dtype, batch } = shape;
  const { stream } = options;
  const out = empty([batch * keptRows({ axis }, shape)], { device, dtype, stream });
  made.push(out);
  if (out.size === 0) return [];
  const ranges = await rangesFor(counts.plan.counts, axis, shape, options, made);
  await launch(shape, bound, ranges, options, (queue, given) => {
    launchSelection(counts, queue, given, { out });
  });
  return out.toTypedArray({ stream, signal: options.signal });
}

function exclusiveSums(counts: ArrayLike<number>): BigInt64Array {
  const offsets = new BigInt64Array(counts.length + 1);
  for (let row = 0; row < counts.length; row++) {
    offsets[row + 1] = (offsets[row] ?? 0n) + BigInt(counts[row] ?? 0);
  }
  return offsets;
}

async function writePairs(
  { pairs }: LoadedSelection,
  axis: 0 | 1,
  { shape, bound }: PlacedCall,
  sums: BigInt64Array,
  options: CallOptions,
  made: Tensor[],
): Promise<SelectedPairs> {
  const { device, dtype } = shape;
  const { stream } = options;
  const { valueDim, pass } = pairs.plan;
  const results: Tensor[] = [];
  const kept = <T extends Tensor>(one: T): T => {
    results.push(one);
    return one;
  };
  try {
    const found = Number(sums.at(-1) ?? 0n);
    const offsets = kept(await tensor(sums, { device, stream, signal: options.signal }));
    const indices = kept(empty([found], { device, dtype: 'int32', stream }));
    const values =
      valueDim === 0 ? undefined : kept(empty([found, valueDim], { device, dtype, stream }));
    if (found > 0) {
      const ranges = await rangesFor(pass, axis, shape, options, made);
      await launch(shape, bound, ranges, options, (queue, given) => {
        launchSelection(pairs, queue, given, { offsets, rows: indices, values });
      });
    }
    return { offsets, indices, ...(values !== undefined && { values }) };
  } catch (error) {
    for (const one of results) one.dispose();
    throw error;
  }
}

/** The ranges of the call as tables for a plan. */
async function rangesFor(
  plan: Parameters<typeof rangeTensors>[2]['plan'],
  axis: 0 | 1,
  shape: CallShape,
  { ranges, ...options }: CallOptions,
  made: Tensor[],
): Promise<RangeArguments | undefined> {
  return ranges && (await rangeTensors(WHAT, { axis }, { plan }, shape, ranges, options, made));
}

async function launch(
  shape: CallShape,
  bound: readonly (BoundInput | undefined)[],
  ranges: RangeArguments | undefined,
  { stream, signal }: CallOptions,
  run: (queue: Stream, given: ReturnType<typeof launchArguments>) => void,
): Promise<void> {
  const queue = stream ?? shape.device.defaultStream;
  await queue.room({ signal });
  run(queue, launchArguments(shape, bound, ranges));
}
