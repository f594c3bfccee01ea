import type { MapReducePlan } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { tensor, type Tensor } from '@mercer/tensor';
import {
  assertNotPreparing,
  CallSteps,
  differentiable,
  launchSteps,
  LOAD_OPTIONS,
  pairArguments,
  pairsOf,
  partOf,
  pointerAt,
  rangeTables,
  sidesOf,
  type CallRanges,
  type CallView,
  type LoadedPart,
  type LoadedProgram,
  type PairInput,
} from '@mercer/tensor/operation';
import { inputTensors, inputViews, placedInputs, readable } from './input-views.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import { LazyError, translation } from './lazy-error.js';
import type { LazyOperand } from './lazy-formula.js';
import { pairCall, type PairCall } from './pair-call.js';
import { keptRanges } from './ranges-option.js';
import type { ReduceOptions } from './reduction-types.js';
import { checkRows } from './results.js';
import { loadSelection, type LoadedSelection } from './selection.js';
import type { Merged } from './symbolic.js';
import { usedBy } from './task.js';
import { tensorsApart } from './traced-inputs.js';
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

/** The pairs at which the first formula is not 0, with the values of the second if there is one. Which these are is constant, and values have no derivative. */
export async function nonzeroPairs(
  { formulas, inputs }: Merged,
  axis: 0 | 1,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  const { tensors, bind } = tensorsApart(inputs);
  const call = differentiable<(given: readonly Tensor[]) => Promise<SelectedPairs>, never>(
    WHAT,
    (given) => foundPairs({ formulas, inputs: bind(given) }, axis, options),
    formulas.length === 1 ? 'constant' : undefined,
  );
  return call(tensors);
}

async function foundPairs(
  { formulas, inputs }: Merged,
  axis: 0 | 1,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  checkBound(WHAT, inputs);
  checkMask(formulas[0]?.dim ?? 0);
  const { stream, device: where, dtype, signal, debug } = options;
  const call = pairCall(WHAT, formulas, inputs, { outs: [], stream, device: where, dtype });
  const { sizes, device } = call;
  const { keptRows, reducedRows } = sidesOf({ axis }, sizes);
  checkRows(WHAT, { axis }, call);
  checkCounts(reducedRows, sizes.dtype);
  const ranges =
    options.ranges === undefined ? undefined : keptRanges(WHAT, { axis }, options.ranges);
  const used = usedBy(formulas);
  const made: Tensor[] = [];
  try {
    const placed = await placedInputs(inputs, used, call, options, made);
    const tensors = { inputs: inputTensors(placed), outs: [] };
    const steps = new CallSteps(device, tensors);
    const views = inputViews(steps, placed, used, () => new Error('data of the host is placed'));
    // Copies are read twice: results, not scratch memory.
    const bound = views.map(
      (one) => one && readable(steps, one, sizes, (spec) => steps.result(spec)),
    );
    const values = pairsOf(sizes, ranges);
    const loaded = await loadSelection(WHAT, formulas, axis, call, bound, ranges !== undefined, {
      debug,
      signal,
      values,
    });
    const pass = { axis, call, ranges, stream, values };
    const counts = steps.result({ shape: [sizes.batch * keptRows], dtype: sizes.dtype });
    addSelection(steps, loaded.counts, loaded.counts.plan.counts, bound, { out: counts }, pass);
    const found = await launchSteps(WHAT, { steps, tensors: given(steps, tensors) }, options);
    made.push(...found);
    const counted = found.at(-1) as Tensor<LazyDType>;
    assertNotPreparing(WHAT);
    const sums = exclusiveSums(await counted.toTypedArray({ stream, signal }));
    // What the first pass made follows the inputs.
    const read = bound.map((one): PairInput | undefined => {
      if (one?.view.kind !== 'result') return one;
      const place = tensors.inputs.length + one.view.place;
      return { ...one, view: { ...one.view, kind: 'input', place } };
    });
    return await writePairs(loaded.pairs, [...tensors.inputs, ...found], read, sums, pass, options);
  } finally {
    for (const one of made) one.dispose();
  }
}

/** What both passes of a selection have. */
interface SelectionPass {
  readonly axis: 0 | 1;
  readonly call: PairCall;
  readonly ranges: CallRanges | undefined;
  readonly stream: NonzeroOptions['stream'];
  readonly values: number;
}

/** The tensors of a call that makes all its results. */
const given = (
  { results }: CallSteps,
  { inputs }: { readonly inputs: readonly Tensor[] },
): Parameters<typeof launchSteps>[1]['tensors'] => ({ inputs, outs: results.map(() => undefined) });

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

function exclusiveSums(counts: ArrayLike<number>): BigInt64Array {
  const offsets = new BigInt64Array(counts.length + 1);
  for (let row = 0; row < counts.length; row++) {
    offsets[row + 1] = (offsets[row] ?? 0n) + BigInt(counts[row] ?? 0);
  }
  return offsets;
}

/** Adds a pass over all pairs, with what it reads and writes beside the inputs by name. */
function addSelection(
  steps: CallSteps,
  loaded: LoadedProgram<unknown>,
  plan: MapReducePlan,
  bound: readonly (PairInput | undefined)[],
  others: Readonly<Record<string, CallView>>,
  { axis, call: { sizes, device }, ranges, stream, values }: SelectionPass,
): void {
  if (sizes.batch * sidesOf({ axis }, sizes).keptRows === 0) return;
  const { pointers, scalars } = pairArguments(sizes, bound);
  for (const [name, view] of Object.entries(others)) pointers[name] = pointerAt(view);
  steps.add({
    program: WHAT,
    values,
    load: async ({ signal }, made): Promise<readonly LoadedPart[]> => {
      if (ranges === undefined) return [partOf(loaded)];
      const of = { ranges, ...sidesOf({ axis }, sizes) };
      try {
        const tables = await rangeTables(plan, of, device, { stream, signal }, made);
        return [{ program: loaded, ...tables }];
      } catch (error) {
        throw translation(WHAT, error);
      }
    },
    launches: () => [{ pointers, scalars }],
  });
}

async function writePairs(
  loaded: LoadedSelection['pairs'],
  tensors: readonly Tensor[],
  bound: readonly (PairInput | undefined)[],
  sums: BigInt64Array,
  pass: SelectionPass,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  const { device, sizes } = pass.call;
  const { stream, signal } = options;
  const { valueDim, pass: plan } = loaded.plan;
  const found = Number(sums.at(-1) ?? 0n);
  const offsets = await tensor(sums, { device, stream, signal });
  try {
    const inputs = [...tensors, offsets];
    const steps = new CallSteps(device, { inputs, outs: [] });
    const rows = steps.result({ shape: [found], dtype: 'int32' });
    const others: Record<string, CallView> = { offsets: steps.input(inputs.length - 1), rows };
    if (valueDim > 0) {
      others['values'] = steps.result({ shape: [found, valueDim], dtype: sizes.dtype });
    }
    if (found > 0) addSelection(steps, loaded, plan, bound, others, pass);
    const plans = { steps, tensors: given(steps, { inputs }) };
    const [indices, values] = await launchSteps(WHAT, plans, options);
    const pairs = { offsets, indices: indices as Tensor<'int32'> };
    return values === undefined ? pairs : { ...pairs, values: values as Tensor<LazyDType> };
  } catch (error) {
    offsets.dispose();
    throw error;
  }
}
