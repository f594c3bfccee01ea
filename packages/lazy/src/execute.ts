import {
  device as deviceOf,
  MercerError,
  type DeviceLike,
  type LoadOptions,
  type StreamOption,
  type Tensor,
} from '@mercer/tensor';
import { readableInput, roomOn } from '@mercer/tensor/operation';
import { bindArguments } from './bind-arguments.js';
import {
  inputOperand,
  ownAxes,
  type BoundInput,
  type CallShape,
  type Operand,
  type Results,
} from './call.js';
import { withChangingLiterals } from './changing-literals.js';
import { checkRowNumbers, checkTables } from './check-row-numbers.js';
import { commonExtent, type Extent } from './extent.js';
import {
  asResults,
  callSignature,
  knownCall,
  rememberCall,
  type CallSignature,
} from './known-calls.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyData } from './make-input.js';
import { launchPasses, loadPasses } from './passes.js';
import { placeInputs } from './place-inputs.js';
import { passRanges, type RangesOption } from './range-tensors.js';
import type { IndexOption } from './reduction-types.js';
import { areEmpty, checkIndexDtype, deliver, isWrittenWhole, makeResults } from './results.js';
import type { SumOptions } from './sum-options.js';
import { formulasOf, jointly, usedBy, type JointTask, type Task } from './task.js';

/** Options of a call that say nothing about what is computed. */
export interface CallOptions extends StreamOption, SumOptions, IndexOption, LoadOptions {
  /** Where host data is placed when no input is a tensor. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** What host data is converted to when no input has a dtype of its own. Default: float32. */
  readonly dtype?: LazyDType | undefined;
  /** Which rows of i meet which rows of j; without it all. */
  readonly ranges?: RangesOption | undefined;
}

/** Options of a call of one reduction. */
export interface ExecuteOptions extends CallOptions {
  readonly out?: Results | undefined;
}

/** Options of a call of several: `out` by place, with nothing where a result is to be made. */
export interface ExecuteAllOptions extends CallOptions {
  readonly out?: readonly Results[] | undefined;
}

/** Every option, not given. */
const NO_OPTIONS: { readonly [N in keyof Required<ExecuteAllOptions>]: undefined } = {
  out: undefined,
  stream: undefined,
  debug: undefined,
  ranges: undefined,
  device: undefined,
  accumulate: undefined,
  sumScheme: undefined,
  indexDtype: undefined,
  dtype: undefined,
  signal: undefined,
};

/** Computes a task of one reduction. @throws as `executeAll` */
export async function execute(
  task: Task,
  args: readonly LazyData[],
  { out, ...rest }: ExecuteOptions,
): Promise<Results> {
  const [only] = await executeAll(jointly(task), args, { ...rest, out: out && [out] });
  if (only === undefined) throw new Error('a reduction has results');
  return only;
}

/**
 * Computes a task. Everything is checked, copied where a kernel cannot read it, and compiled before the first write.
 *
 * @throws LazyError, MercerError, the compiler's or the loader's error
 */
export async function executeAll(
  called: JointTask,
  args: readonly LazyData[],
  given: ExecuteAllOptions,
): Promise<readonly Results[]> {
  const { out = [], ...options }: ExecuteAllOptions = { ...NO_OPTIONS, ...given };
  const { what } = called;
  const { stream, debug, ranges, accumulate, sumScheme, indexDtype, signal } = options;
  signal?.throwIfAborted();
  checkIndexDtype(what, indexDtype, called.reductions);
  const bound = { ...called, inputs: bindArguments(what, called.inputs, args) };
  const isPlain = ranges === undefined && (debug ?? false) === false && indexDtype !== 'int64';
  const signature = isPlain ? callSignature(bound, out, options) : undefined;
  const same = signature && (await callAgain(signature, bound, options));
  if (same !== undefined) return same;
  const task = await withChangingLiterals(bound, signal);
  const { reductions, inputs } = task;
  const made: Tensor[] = [];
  try {
    const call = { what, formulas: reductions.flatMap(formulasOf), inputs };
    const placed = await placeCall(call, { ...options, out }, made);
    const { shape, tensors } = placed;
    const results = makeResults(task, shape, out, tensors, { stream, indexDtype });
    try {
      if (areEmpty(results.wanted)) return results.wanted;
      const passes = await loadPasses(task, shape, placed.bound, {
        debug,
        signal,
        isCall: true,
        ranges: ranges !== undefined,
        accumulate,
        sumScheme,
      });
      signal?.throwIfAborted();
      const arrays = await passRanges(what, reductions[0], passes, shape, options, made);
      const queue = stream ?? shape.device.defaultStream;
      await queue.room({ signal });
      launchPasses(passes, shape, placed.bound, results.written, queue, arrays);
      if (signature !== undefined && task === bound && isWrittenWhole(results)) {
        const { written } = results;
        rememberCall(signature, task, { passes, inputs, bound: placed.bound, shape, written });
      }
      return await deliver(results, options);
    } catch (error) {
      for (const one of results.made) one.dispose();
      throw error;
    }
  } finally {
    for (const one of made) one.dispose();
  }
}

/** A call like one before, whose checks and plans are not made again; undefined where there was none. */
async function callAgain(
  signature: CallSignature,
  { what, reductions }: JointTask,
  { stream, signal }: ExecuteAllOptions,
): Promise<readonly Results[] | undefined> {
  const known = knownCall(signature);
  if (known === undefined) return undefined;
  const queue = await roomOn(known.device, { stream, signal }, what);
  const results = known.launch(signature.tensors, queue);
  return results && asResults(reductions, results);
}

/** A call whose inputs lie where its kernels read them. */
export interface PlacedCall {
  readonly shape: CallShape;
  /** By place, undefined where no formula has the input. */
  readonly bound: readonly (BoundInput | undefined)[];
  /** The inputs that are read. */
  readonly tensors: readonly Tensor[];
}

/**
 * Checks the inputs of formulas against each other and places what they read. Tensors that had to be made are pushed to
 * `made`, whose owner disposes them.
 *
 * @throws LazyError, MercerError
 */
export async function placeCall(
  {
    what,
    formulas,
    inputs,
  }: Pick<Task, 'what' | 'inputs'> & { readonly formulas: ReturnType<typeof formulasOf> },
  options: ExecuteAllOptions,
  made: Tensor[],
): Promise<PlacedCall> {
  const extent = commonExtent(what, inputs);
  const shape = callShape(what, extent, options);
  const { device, dtype, batchShape } = shape;
  checkRowNumbers(what, formulas, { ...extent, dtype });
  checkTables(what, inputs, dtype);
  const { stream, signal } = options;
  const placed = await placeInputs(
    inputs,
    usedBy(formulas),
    { device, dtype, stream, signal },
    made,
  );
  const bound: (BoundInput | undefined)[] = [];
  const target = { batchShape, stream, signal, copies: made };
  for (const [place, one] of inputs.entries()) {
    const x = placed[place];
    const read = (t: Tensor): Operand | undefined => inputOperand(t, shape, one);
    const own = { ...target, ownAxes: ownAxes(one) };
    bound.push(x && (await readableInput(x, read, own)));
  }
  return { shape, bound, tensors: placed.filter((x) => x !== undefined) };
}

/**
 * The sizes of a call. A side that no input follows has one row.
 *
 * @throws MercerError DTYPE_MISMATCH where the option says another dtype than the inputs
 */
export function callShape(what: string, extent: Extent, given: ExecuteAllOptions): CallShape {
  const { rowsI = 1, rowsJ = 1, batchShape } = extent;
  const options: ExecuteAllOptions = { ...NO_OPTIONS, ...given };
  const { out = [], stream, dtype: wanted } = options;
  const dtype = extent.dtype ?? wanted ?? 'float32';
  if (wanted !== undefined && wanted !== dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the option dtype is ${wanted} and the inputs are ${dtype}. The option is for data without a dtype of its own; leave it out, or cast the inputs.`,
    );
  }
  const home = out.map(({ value, index }) => value ?? index).find((one) => one !== undefined);
  const device = extent.device ?? home?.device ?? deviceOf(options.device ?? stream?.device);
  const batch = batchShape.reduce((product, size) => product * size, 1);
  return { dtype, device, rowsI, rowsJ, batchShape, batch };
}
