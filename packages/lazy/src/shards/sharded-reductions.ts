import { outputsOf, traitsOf, type Reduction } from '@mercer/formula';
import { dtypeBytes, MercerError, type Device, type Tensor } from '@mercer/tensor';
import {
  checkOut,
  checkShardOptions,
  formulasOf,
  shardsWithin,
  sidesOf,
  sizeOfShape,
  type ShardProblem,
} from '@mercer/tensor/operation';
import { bindArguments, checkArguments } from '../bind-arguments.js';
import { CALL_OPTIONS, readOptions, type ReductionOptions } from '../call-options.js';
import type { Input } from '../input.js';
import type { LazyData } from '../make-input.js';
import { pairCall, type PairCall } from '../pair-call.js';
import {
  asOuts,
  checkIndexDtype,
  checkOutDtype,
  checkCompute,
  MAX_INDEXED_ROWS,
  wantedResults,
  type WantedResult,
} from '../results.js';
import { labelOf, usedBy, type JointTask } from '../task.js';
import { keptRanges } from '../ranges-option.js';
import { listedRanges } from './cut-ranges.js';
import { runShards, type ComputeTask } from './run-shards.js';
import {
  checkInputs,
  held,
  inputBytes,
  oneDevice,
  refuseBeside,
  tensorsOf,
  withLayouts,
} from './sharded-inputs.js';

/**
 * The reductions of a task, computed block by block, on one device or on several: how rows are cut is planned first, then the devices
 * compute their shards side by side, and what they give is merged. Resolves when the last block is computed and merging it is enqueued.
 *
 * @throws LazyError, MercerError; what a device or the signal ends it with. Tensors given as `out` are as they were then
 */
export async function shardedReductions(
  task: JointTask,
  args: readonly LazyData[],
  given: ReductionOptions,
  computeTask: ComputeTask,
): Promise<Tensor[]> {
  const { what, reductions } = task;
  const options = readOptions<ReductionOptions>(what, given, CALL_OPTIONS);
  const named = checkShardOptions(what, options);
  refuseBeside(what, options);
  const outs = asOuts(task, options.out);
  checkArguments(what, args);
  checkIndexDtype(what, options.indexDtype, reductions);
  checkCompute(what, options);
  const bound = bindArguments(what, task.inputs, args);
  const formulas = formulasOf(reductions);
  const used = usedBy(formulas);
  const devices = named ?? [oneDevice(bound, options, outs)];
  const home = devices[0] as Device;
  const anywhere = bound.map((one) => ({ ...one, device: undefined }));
  const call = pairCall(what, formulas, anywhere, {
    stream: undefined,
    outs: [],
    dtype: options.dtype,
    device: home,
  });
  checkInputs(what, bound, used, devices);
  checkIndices(what, task, call, options);
  checkOutDtype(what, options.outDtype, reductions, call.sizes.dtype);
  const wanted = wantedResults(reductions, call, options);
  checkShardedOuts(task, wanted, outs, tensorsOf(bound, used), home);
  options.signal?.throwIfAborted();
  const rows = sidesOf(reductions[0], call.sizes);
  const ranges =
    options.ranges &&
    (await listedRanges(what, keptRanges(what, reductions[0], options.ranges), rows, options));
  const made: Tensor[] = [];
  try {
    const inputs = await withLayouts(held(bound, made), used, call.sizes.dtype, made);
    const sizes = problemOf(task, inputs, used, call, devices, outs, wanted);
    const plan = shardsWithin(what, sizes, devices, options.maxBytes);
    const whole = { ...task, inputs };
    return await runShards({
      task: whole,
      used,
      call,
      wanted,
      outs,
      plan,
      ranges,
      devices,
      options,
      compute: computeTask,
    });
  } finally {
    for (const one of made) one.dispose();
  }
}

/** @throws MercerError UNSUPPORTED for row numbers that int32 has not */
function checkIndices(
  what: string,
  { reductions }: JointTask,
  { sizes }: PairCall,
  { indexDtype = 'int32' }: ReductionOptions,
): void {
  const { reducedRows } = sidesOf(reductions[0], sizes);
  const numbers = reductions.flatMap(outputsOf).some(({ name }) => name === 'index');
  if (!numbers || indexDtype === 'int64' || reducedRows <= MAX_INDEXED_ROWS) return;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: the reduced side has ${reducedRows} rows, and row numbers are int32: at most 2^31 - 1. Pass indexDtype: 'int64'.`,
  );
}

/** @throws MercerError as `checkOut` does */
export function checkShardedOuts(
  task: JointTask,
  wanted: readonly WantedResult[],
  outs: readonly (Tensor | undefined)[],
  read: readonly Tensor[],
  home: Device,
): readonly Tensor[] {
  const taken = [...read];
  for (const [at, { place, shape, dtype }] of wanted.entries()) {
    const out = outs[at];
    if (out === undefined) continue;
    // Results go to the first device, or home to the host.
    const device = out.device.kind === 'cpu' ? out.device : home;
    checkOut(out, { shape, dtype, device }, taken, labelOf(task, place));
    taken.push(out);
  }
  return taken;
}

/** Sizes that decide how rows are cut. */
function problemOf(
  { reductions }: JointTask,
  inputs: readonly Input[],
  used: ReadonlySet<number>,
  { sizes: { dtype, batch, rowsI, rowsJ } }: PairCall,
  devices: readonly Device[],
  outs: readonly (Tensor | undefined)[],
  wanted: readonly WantedResult[],
): Omit<ShardProblem, 'maxBytes'> {
  const [{ axis }] = reductions;
  const kept = axis === 1 ? 'i' : 'j';
  const rowsKept = axis === 1 ? rowsI : rowsJ;
  const bytes = inputBytes(inputs, used, dtype);
  const rowBytes = ({ shape, dtype: of }: WantedResult): number =>
    sizeOfShape(shape.with(-2, 1)) * dtypeBytes(of);
  const resultBytes = wanted.reduce((sum, one) => sum + rowBytes(one), 0);
  // Results that are put together on the first device, whether they stay there or not; one block is the result itself.
  const atHome = wanted.reduce((sum, one, at) => {
    const isHome = outs[at] === undefined || outs[at].device === devices[0];
    return isHome ? sum + rowBytes(one) : sum;
  }, 0);
  // Lists of values and of row numbers, whatever of them is wanted.
  const carried = reductions.reduce((sum, one) => sum + carriedNumbers(one), 0) * batch;
  return {
    rowsKept,
    rowsReduced: axis === 1 ? rowsJ : rowsI,
    leastReduced: Math.max(...reductions.map(({ k = 1 }: Reduction) => k)),
    bytesFixed: bytes.parameter + rowsKept * atHome,
    bytesKept: bytes[kept],
    bytesReduced: bytes[kept === 'i' ? 'j' : 'i'],
    bytesPair: bytes.pair,
    // A block's results, and what is carried before and after it in float64.
    bytesResults: resultBytes + 3 * carried * dtypeBytes('float64'),
  };
}

/** Numbers that are carried from block to block for each row, at most. */
function carriedNumbers(of: Reduction): number {
  const { isExponential, extremum, takesK } = traitsOf(of.kind);
  const dim = outputsOf(of).reduce((most, one) => Math.max(most, one.dim), 0);
  if (isExponential) return dim + 2;
  // values with row numbers, or means beside what is found
  return extremum !== undefined || takesK || of.kind === 'Var' || of.kind === 'Mean'
    ? 2 * dim
    : dim;
}
