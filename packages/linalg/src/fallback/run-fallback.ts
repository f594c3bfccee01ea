import { tensor, type Stream, type Tensor, type WorkOptions } from '@mercer/tensor';
import type { MatrixOperand } from '../operand.js';
import type { Arguments, Field } from '../routine.js';
import { routines, type LapackRoutineName } from '../routines.js';
import type { PackedMatrices } from './messages.js';
import { askWorker, type Watch } from './worker-host.js';

/** Computes a routine with ml-matrix in a worker thread, in float64 whatever the dtype. */
export async function runFallback(
  name: LapackRoutineName,
  batchShape: readonly number[],
  args: Arguments,
  { stream, ...watch }: Watch & { readonly stream: Stream | undefined },
): Promise<void> {
  const within = { stream, signal: watch.signal };
  const count = batchShape.reduce((product, extent) => product * extent, 1);
  const matrices: Record<string, PackedMatrices> = {};
  const numbers: Record<string, number> = {};
  const vectors: string[] = [];
  const outputs: [name: string, operand: MatrixOperand][] = [];
  const ones: [name: string, memory: Tensor][] = [];
  for (const [field, kind] of Object.entries<Field>(routines[name].fields)) {
    const value: Arguments[string] = args[field];
    if (kind === 'integer' || kind === 'number') {
      numbers[field] = Number(value);
    } else if (kind === 'ints' || kind === 'reals') {
      vectors.push(field);
      ones.push([field, value as Tensor]);
    } else if (value !== undefined) {
      const operand = value as MatrixOperand;
      const { rows, columns } = operand;
      matrices[field] =
        kind === 'write'
          ? { rows, columns }
          : { rows, columns, values: await gather(operand, batchShape, within) };
      if (kind !== 'read') outputs.push([field, operand]);
    }
  }
  if (count === 0) return;
  const request = { routine: name, count, matrices, numbers, vectors };
  const results = await askWorker(request, watch);
  for (const [name, operand] of outputs) {
    using target = operand.view();
    await write(target, results[name], within);
  }
  for (const [name, memory] of ones) await write(memory, results[name], within);
}

/** The matrices of every batch entry, once the device has them. */
async function gather(
  operand: MatrixOperand,
  batchShape: readonly number[],
  within: WorkOptions,
): Promise<Float64Array> {
  using view = operand.view();
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
  using made = await tensor(values, { dtype, shape, device, ...within });
  await target.copyFrom(made, within);
}
