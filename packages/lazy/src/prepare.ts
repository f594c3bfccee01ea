import type { MapReducePlan } from '@mercer/kernels';
import { MercerError, type DType, type Stream, type Tensor } from '@mercer/tensor';
import { assertTensor, layoutKey, type KnownCall } from '@mercer/tensor/operation';
import { bindArguments } from './bind-arguments.js';
import { inputOperand, type BoundInput, type CallShape, type Results } from './call.js';
import { callShape } from './execute.js';
import { PREPARE_OPTIONS, readOptions } from './call-options.js';
import { checkRowNumbers, checkTables } from './check-row-numbers.js';
import { commonExtent } from './extent.js';
import { describeInput, type Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { checkKept, keepRanges } from './kept-ranges.js';
import { asResults, knownCallOf, outputTensors, type CallSource } from './known-calls.js';
import { launchPasses, loadPasses } from './passes.js';
import { matrixView } from './place-inputs.js';
import type { PrepareOptions } from './prepare-options.js';
import { areEmpty, checkIndexDtype, isWrittenWhole, makeResults } from './results.js';
import { formulasOf, usedBy, type JointTask } from './task.js';
import { loadWidening } from './widen-indices.js';

/** A task whose kernels are loaded. */
export interface PreparedTask {
  /** The plan of each pass. */
  readonly plans: readonly [MapReducePlan, ...MapReducePlan[]];
  readonly run: (
    args: readonly Tensor[],
    out: readonly Results[],
    stream: Stream | undefined,
  ) => readonly Results[];
  /** Returns what the ranges hold on the device. */
  readonly dispose: () => void;
}

/** Compiles a task for tensors like these. */
export async function prepareTask(
  task: JointTask,
  args: readonly Tensor[],
  given: PrepareOptions | undefined,
): Promise<PreparedTask> {
  const { what, reductions } = task;
  const { ranges, indexDtype, ...options } = readOptions(what, given, PREPARE_OPTIONS);
  checkIndexDtype(what, indexDtype, reductions);
  options.signal?.throwIfAborted();
  const used = usedBy(reductions.flatMap(formulasOf));
  const example = bind(task, args);
  const views: Tensor[] = [];
  const inputs = example.inputs.map((one, place) =>
    used.has(place) ? { tensor: placedView(what, one, views) } : undefined,
  );
  for (const view of views) view.dispose();
  const dtypes = inputs.map((one) => one?.tensor.dtype);
  const passes = await loadPasses(task, example.shape, inputs, {
    ...options,
    isCall: false,
    ranges: ranges !== undefined,
  });
  const widen =
    indexDtype === 'int64' ? await loadWidening(example.shape.device, options) : undefined;
  const kept = await keepRanges(task, passes, example.shape, {
    ranges,
    signal: options.signal,
  });
  let known: { readonly key: string | undefined; readonly call: KnownCall } | undefined;
  const run: PreparedTask['run'] = (tensors, out, stream) => {
    const home = stream ?? example.shape.device.defaultStream;
    const outs = outputTensors(reductions, out);
    const given = outs && { inputs: tensors, outs };
    const key = given && layoutKey(given);
    if (known !== undefined && given !== undefined && known.key === key) {
      const again = known.call.launch(given, home);
      if (again !== undefined) return asResults(reductions, again);
    }
    const call = bind(task, tensors);
    checkPrepared(what, call, example.shape, dtypes);
    if (ranges !== undefined) checkKept(what, kept, call.shape, example.shape);
    const made: Tensor[] = [];
    try {
      const bound = call.inputs.map((one, place) =>
        used.has(place) ? readable(what, one, call.shape, made) : undefined,
      );
      const read = bound.flatMap((one) => (one === undefined ? [] : [one.tensor]));
      for (const given of out.flatMap(({ value, index }) => [value, index])) {
        checkDense(what, given);
      }
      const results = makeResults(task, call.shape, out, read, { stream, indexDtype });
      try {
        const queue = stream ?? call.shape.device.defaultStream;
        if (!areEmpty(results.wanted)) {
          launchPasses(passes, call.shape, bound, results.written, queue, kept.arrays);
          if (given !== undefined && isWrittenWhole(results)) {
            const { shape } = call;
            const made = { passes, inputs: task.inputs, bound, shape, written: results.written };
            const sources = task.inputs.map(sourceOf);
            const again = knownCallOf(given, task, { ...made, ranges: kept.arrays }, sources);
            known = again && { key, call: again };
          }
        }
        widen?.(results, queue);
        return results.wanted;
      } catch (error) {
        for (const one of results.made) one.dispose();
        throw error;
      }
    } finally {
      for (const one of made) one.dispose();
    }
  };
  const [first, ...others] = passes.map(({ loaded }) => loaded.plan);
  if (first === undefined) throw new Error('a task has a pass');
  const dispose = (): void => {
    for (const one of kept.tables) one.dispose();
  };
  return { plans: [first, ...others], run, dispose };
}

/** Where a known call finds the tensor of an input: an argument, or a tensor of the formula. */
function sourceOf({ source }: Input): CallSource | undefined {
  if (source.kind === 'placeholder') return { kind: 'input', place: source.position };
  return source.kind === 'tensor' ? { kind: 'held', tensor: source.tensor } : undefined;
}

interface BoundCall {
  readonly inputs: readonly Input[];
  readonly shape: CallShape;
}

function bind({ what, inputs, reductions }: JointTask, args: readonly Tensor[]): BoundCall {
  for (const [at, one] of args.entries()) assertTensor(one, `${what}: argument ${at}`);
  const bound = bindArguments(what, inputs, args);
  const extent = commonExtent(what, bound);
  const shape = callShape(what, extent, {});
  checkRowNumbers(what, reductions.flatMap(formulasOf), { ...extent, dtype: shape.dtype });
  checkTables(what, bound, shape.dtype);
  return { inputs: bound, shape };
}

function placedView(what: string, one: Input, made: Tensor[]): Tensor {
  if (one.source.kind !== 'tensor') {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${describeInput(one)} is host data, which a prepared call cannot place. Pass a tensor, made once with tensor(data).`,
    );
  }
  const { tensor } = one.source;
  tensor.assertAlive();
  return matrixView(one, tensor, made);
}

function readable(what: string, one: Input, shape: CallShape, made: Tensor[]): BoundInput {
  const view = placedView(what, one, made);
  const operand = inputOperand(view, shape, one);
  if (operand !== undefined) return { tensor: view, operand };
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: ${describeInput(one)} has strides [${view.strides.join(', ')}], which a prepared call cannot read over the batch [${shape.batchShape.join(', ')}]. ` +
      'Pass await x.contiguous() of the broadcast view, or use the call that copies by itself.',
  );
}

function checkDense(what: string, out: Tensor | undefined): void {
  if (out === undefined || out.isContiguous) return;
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: out has strides [${out.strides.join(', ')}], and a prepared call writes row-major results. Pass one from empty(shape).`,
  );
}

function checkPrepared(
  what: string,
  { shape, inputs }: BoundCall,
  example: CallShape,
  dtypes: readonly (DType | undefined)[],
): void {
  if (shape.dtype !== example.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: prepared for ${example.dtype}, called with ${shape.dtype}. Prepare another for ${shape.dtype}.`,
    );
  }
  for (const [place, one] of inputs.entries()) {
    const found = one.source.kind === 'tensor' ? one.source.tensor.dtype : undefined;
    const wanted = dtypes[place];
    if (wanted === undefined || found === wanted) continue;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${describeInput(one)} was prepared as ${wanted}. Prepare another, or cast it.`,
    );
  }
  if (shape.device !== example.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: prepared on ${example.device.id}, called with tensors on ${shape.device.id}. Prepare another there.`,
    );
  }
}
