import { lapack } from '@mercer/cpu-runtime';
import { own } from '@mercer/options';
import type { PointerArgument } from '@mercer/tensor';
import type { Setting } from './checks.js';
import { runCuda } from './cuda/run-cuda.js';
import { runFallback } from './fallback/run-fallback.js';
import type { MatrixOperand } from './operand.js';
import type { RunOptions } from './options.js';
import { scalarsOf, type Arguments, type Field, type Routine } from './routine.js';
import { needsLapack, routines, type FieldsOf, type RoutineName } from './routines.js';

/**
 * Enqueues a routine on the stream, one task for each batch entry. Where the machine has no LAPACK, a routine that needs one is
 * computed in a worker thread instead, and the promise resolves when that is done.
 *
 * On a GPU the routines of cuda/ enqueue it.
 */
export async function runRoutine<K extends RoutineName>(
  name: K,
  setting: Setting,
  args: Arguments<FieldsOf<K>>,
  options: RunOptions,
): Promise<void> {
  const { stream, signal, onProgress } = own(options, 'stream', 'signal', 'onProgress');
  signal?.throwIfAborted();
  const { what, device, dtype, batchShape } = setting;
  const queue = stream ?? device.defaultStream;
  if (device.kind === 'cuda') {
    await runCuda(name, { setting, args, stream: queue, signal, onProgress });
    return;
  }
  if (needsLapack(name) && !lapack.isAvailable()) {
    await runFallback(name, batchShape, args, { what, stream, signal, onProgress });
    return;
  }
  const routine: Routine<FieldsOf<K>> = routines[name];
  const loaded = device.loadBuiltin(routine.kernels[dtype]);
  await queue.room({ signal });
  const pointers: PointerArgument[] = [];
  for (const [field, kind] of Object.entries<Field>(routine.fields)) {
    if (kind === 'integer' || kind === 'number') continue;
    const value = args[field as keyof typeof args] as MatrixOperand | PointerArgument | undefined;
    pointers.push(value === undefined ? 0n : isOperand(value) ? value.memory : value);
  }
  loaded.launch(queue, { pointers, scalars: scalarsOf(routine, args, batchShape) });
}

function isOperand(value: MatrixOperand | PointerArgument): value is MatrixOperand {
  return typeof value === 'object' && Object.hasOwn(value, 'memory');
}
