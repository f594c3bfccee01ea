import { tensor, type Stream, type Tensor, type WorkOptions } from '@mercer/tensor';
import { assertNotPreparing, keptPlace, waited, type CallRoutine } from '@mercer/tensor/operation';
import type { Setting } from '../checks.js';
import type { MatrixOperand } from '../operand.js';
import { argumentsOf, type Arguments, type Field, type PlannedArguments } from '../routine.js';
import { routines, type LapackRoutineName } from '../routines.js';
import type { PackedMatrices } from './messages.js';
import { askWorker, type Watch } from './worker-host.js';

/** A routine of a planned call that ml-matrix computes in a worker thread, in float64 whatever the dtype. */
export const fallbackRoutine = (
  name: LapackRoutineName,
  { what, batchShape }: Setting,
  planned: PlannedArguments,
): CallRoutine => ({
  now: undefined,
  prepare: () => Promise.resolve(),
  *ready() {
    yield* [];
  },
  *enqueue(call) {
    const { stream, signal, onProgress } = call;
    const args = argumentsOf(routines[name], planned, call);
    yield* waited(() => run(name, batchShape, args, { what, stream, signal, onProgress }));
  },
});

async function run(
  name: LapackRoutineName,
  batchShape: readonly number[],
  args: Arguments,
  { stream, ...watch }: Watch & { readonly stream: Stream },
): Promise<void> {
  assertNotPreparing(watch.what);
  const within = { stream, signal: watch.signal };
  const inPlace = keptPlace();
  const count = batchShape.reduce((product, extent) => product * extent, 1);
  const matrices: Record<string, PackedMatrices> = {};
  const numbers: Record<string, number> = {};
  const vectors: string[] = [];
  const outputs: [name: string, memory: Tensor][] = [];
  for (const [field, kind] of Object.entries<Field>(routines[name].fields)) {
    const value: Arguments[string] = args[field];
    if (kind === 'integer' || kind === 'number') {
      numbers[field] = Number(value);
    } else if (kind === 'ints' || kind === 'reals') {
      vectors.push(field);
      outputs.push([field, value as Tensor]);
    } else if (value !== undefined) {
      const operand = value as MatrixOperand;
      const { rows, columns } = operand;
      matrices[field] =
        kind === 'write'
          ? { rows, columns }
          : { rows, columns, values: await inPlace(() => gather(operand, batchShape, within)) };
      if (kind !== 'read') outputs.push([field, resultOf(operand)]);
    }
  }
  try {
    if (count === 0) return;
    const request = { routine: name, count, matrices, numbers, vectors };
    const results = await askWorker(request, watch);
    for (const [name, memory] of outputs) {
      await inPlace(() => write(memory, results[name], within));
    }
  } finally {
    for (const [field, memory] of outputs) if (!vectors.includes(field)) memory.dispose();
  }
}

/** A view of results, of which those without columns have one axis less. */
function resultOf(operand: MatrixOperand): Tensor {
  const { memory, batchStrides } = operand;
  const isColumn = memory.rank === batchStrides.length + 1;
  return isColumn ? memory.reshape([...memory.shape, 1]) : matricesOf(operand);
}

/** A view whose last two axes are the rows and columns. */
function matricesOf({ memory, rows, rowStride }: MatrixOperand): Tensor {
  const { shape, strides } = memory;
  const isPlain = shape.at(-2) === rows && strides.at(-2) === rowStride;
  return isPlain ? memory.view() : memory.transpose();
}

/** The matrices of every batch entry, once the device has them. */
async function gather(
  operand: MatrixOperand,
  batchShape: readonly number[],
  within: WorkOptions,
): Promise<Float64Array> {
  using view = matricesOf(operand);
  using all = view.broadcastTo([...batchShape, operand.rows, operand.columns]);
  return Float64Array.from((await all.toTypedArray(within)) as Float32Array | Float64Array);
}

async function write(
  target: Tensor,
  values: Float64Array | undefined,
  within: WorkOptions,
): Promise<void> {
  if (values === undefined) throw new Error('the worker left out a result');
  const { shape, dtype, device } = target;
  const inPlace = keptPlace();
  using made = await tensor(values, { dtype, shape, device, ...within });
  await inPlace(() => target.copyFrom(made, within));
}
