import type { MapReducePlan } from '@mercer/kernels';
import { cumSum, type Tensor, type WorkOptions } from '@mercer/tensor';
import {
  assertNotPreparing,
  CallSteps,
  cutsRows,
  differentiable,
  launchSteps,
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
import type { LazyDType } from './lazy-dtype.js';
import { translation } from './lazy-error.js';
import { pairCall, type PairCall } from './pair-call.js';
import { keptRanges } from './ranges-option.js';
import { checkRows } from './results.js';
import { readsRows } from './row-reader.js';
import {
  checkCounts,
  checkMask,
  checkOuts,
  partFor,
  readOuts,
  WHAT,
  type NonzeroOptions,
  type SelectedPairs,
  type SelectedPairsOut,
} from './selected-pairs.js';
import { loadSelection, type LoadedSelection } from './selection.js';
import { shardedPairs } from './shards/sharded-pairs.js';
import type { Merged } from './symbolic.js';
import { usedBy } from './task.js';
import { tensorsApart } from './traced-inputs.js';
import { checkBound } from './transforms.js';

/** The pairs at which the first formula is not 0, with the values of the second if there is one. Which these are is constant, and values have no derivative. */
export async function nonzeroPairs(
  { formulas, inputs }: Merged,
  axis: 0 | 1,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  const { tensors, bind } = tensorsApart(inputs);
  const call = differentiable<(given: readonly Tensor[]) => Promise<SelectedPairs>, never>(
    WHAT,
    (given) => {
      const merged = { formulas, inputs: bind(given) };
      checkBound(WHAT, merged.inputs);
      return cutsRows(options) || readsRows(merged.inputs, [])
        ? shardedPairs(merged, axis, options, foundPairs)
        : foundPairs(merged, axis, options);
    },
    formulas.length === 1 ? 'constant' : undefined,
  );
  return call(tensors);
}

async function foundPairs(
  { formulas, inputs }: Merged,
  axis: 0 | 1,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  checkMask(formulas[0]?.dim ?? 0);
  const { stream, device: where, dtype, signal, debug } = options;
  const call = pairCall(WHAT, formulas, inputs, { outs: [], stream, device: where, dtype });
  const { sizes, device } = call;
  const { keptRows, reducedRows } = sidesOf({ axis }, sizes);
  const outs = readOuts(options.out, formulas[1]);
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
    const read = views.flatMap((one) => (one === undefined ? [] : [one.memory]));
    checkOuts(
      outs,
      {
        rows: sizes.batch * keptRows,
        sizes,
        deviceOf: () => device,
        valueDim: formulas[1]?.dim ?? 0,
      },
      read,
    );
    const values = pairsOf(sizes, ranges);
    const loaded = await loadSelection(WHAT, formulas, axis, call, bound, ranges !== undefined, {
      debug,
      signal,
      values,
    });
    const pass = { axis, call, ranges, stream, values };
    const rows = sizes.batch * keptRows;
    const counts = steps.result({ shape: [rows + 1], dtype: sizes.dtype });
    // The sums up to each, from 0 on, are the offsets.
    steps.fill({ ...counts, shape: [1] }, 0n);
    const after = { ...counts, shape: [rows], offset: 1 };
    addSelection(steps, loaded.counts, loaded.counts.plan.counts, bound, { out: after }, pass);
    const found = await launchSteps(WHAT, { steps, tensors: given(steps, tensors) }, options);
    made.push(...found);
    assertNotPreparing(WHAT);
    const offsets = await summedUp(found.at(-1) as Tensor<LazyDType>, { stream, signal });
    // What the first pass made follows the inputs.
    const again = bound.map((one): PairInput | undefined => {
      if (one?.view.kind !== 'result') return one;
      const place = tensors.inputs.length + one.view.place;
      return { ...one, view: { ...one.view, kind: 'input', place } };
    });
    const of = { offsets, outs, inputs: [...tensors.inputs, ...found], bound: again };
    return await writePairs(loaded.pairs, of, pass, options);
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

/** The sums of counts up to each, on their device. */
async function summedUp(counts: Tensor<LazyDType>, options: WorkOptions): Promise<Tensor<'int64'>> {
  using whole = await counts.cast('int64', options);
  return await cumSum(whole, 0, options);
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

/** What the second pass reads, and where its results go. */
interface CountedPairs {
  readonly offsets: Tensor<'int64'>;
  readonly outs: SelectedPairsOut;
  readonly inputs: readonly Tensor[];
  readonly bound: readonly (PairInput | undefined)[];
}

/** Owns the offsets. */
async function writePairs(
  loaded: LoadedSelection['pairs'],
  { offsets, outs, inputs: read, bound }: CountedPairs,
  pass: SelectionPass,
  options: Omit<NonzeroOptions, 'values'>,
): Promise<SelectedPairs> {
  const { device, sizes } = pass.call;
  const { stream, signal } = options;
  const { valueDim, pass: plan } = loaded.plan;
  try {
    using last = offsets.slice([offsets.size - 1, offsets.size]);
    const found = Number((await last.toTypedArray({ stream, signal }))[0] ?? 0n);
    const into = [partFor('indices', outs.indices, found), partFor('values', outs.values, found)];
    const inputs = [...read, offsets];
    const tensors = { inputs, outs: valueDim > 0 ? into : into.slice(0, 1) };
    const steps = new CallSteps(device, tensors);
    const rows = steps.rowMajorResult({ shape: [found], dtype: 'int32' });
    const others: Record<string, CallView> = { offsets: steps.input(inputs.length - 1), rows };
    if (valueDim > 0) {
      others['values'] = steps.rowMajorResult({ shape: [found, valueDim], dtype: sizes.dtype });
    }
    if (found > 0) addSelection(steps, loaded, plan, bound, others, pass);
    const [indices, values] = await launchSteps(WHAT, { steps, tensors }, options);
    const ends = await outs.offsets?.copyFrom(offsets, { stream, signal });
    if (ends !== undefined) offsets.dispose();
    const pairs = { offsets: ends ?? offsets, indices: indices as Tensor<'int32'> };
    return values === undefined ? pairs : { ...pairs, values: values as Tensor<LazyDType> };
  } catch (error) {
    offsets.dispose();
    throw error;
  }
}
