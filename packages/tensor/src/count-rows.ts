import { pending, type Pending } from './pending.js';
import { countRowsScalars, emitCountRows, planCountRows, type IndexDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { denseResult } from './dense-result.js';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { enqueueFill, memoryAt } from './elementwise.js';
import { MercerError } from './mercer-error.js';
import { coreOf, roomOn, type OwnedView } from './operations.js';
import { launchProgram, loadProblem } from './program.js';
import { waitForRoom } from './stream-core.js';
import { readOptions } from './read-options.js';
import { checkIndex, checkRowCount, denseIndex } from './row-index.js';
import { checkDType } from './check-argument.js';
import { OUT_OPTION, assertTensor, type OutOption, type Tensor } from './tensor.js';
import { checkOut } from './tensor-checks.js';

/** Options of {@link countRows}. */
export interface CountRowsOptions<D extends IndexDType = IndexDType>
  extends OutOption<D>, LoadOptions {
  /** Of the counts; default: that of `out`, else int32, which no index overflows. */
  readonly dtype?: D | undefined;
}

const COUNT_ROWS_OPTIONS: OptionNames<CountRowsOptions> = {
  ...OUT_OPTION,
  dtype: true,
  ...LOAD_OPTIONS,
};

/**
 * How often an index names each row: count r is the number of n with `index[n] = r` (`bincount`). An index below 0 or not below
 * `rows` is left out. Counts are whole numbers, so that they are the same every time on every device.
 *
 * ```ts
 * import { countRows, tensor } from '@mercer/tensor';
 *
 * const labels = await tensor(Int32Array.of(2, 0, 2, -1), { device: 'cpu' });
 * console.log(await (await countRows(labels, 3)).toNested()); // [ 1, 0, 2 ]
 * ```
 *
 * @param index int32 or int64 (N), any stride, at most 2^31 - 1 entries
 * @param rows number of counts, at most 2^31 - 1
 * @returns (rows)
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED
 */
export function countRows<D extends IndexDType = 'int32'>(
  index: Tensor<IndexDType>,
  rows: number,
  options?: CountRowsOptions<D>,
): Pending<Tensor<D>> {
  return pending(counted(index, rows, options) as Promise<Tensor<D>>);
}

async function counted(
  index: Tensor<IndexDType>,
  rows: number,
  options?: CountRowsOptions,
): Promise<Tensor<IndexDType>> {
  options = readOptions('countRows', options, COUNT_ROWS_OPTIONS);
  const what = 'countRows';
  const { out, debug, signal } = options;
  checkIndex(index, what);
  checkRowCount(rows, what);
  if (out !== undefined) assertTensor(out, `${what}: out`);
  const dtype = checkDType(options.dtype ?? out?.dtype ?? 'int32', what);
  if ((dtype as string) !== 'int32' && (dtype as string) !== 'int64') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the counts cannot be ${dtype as string}. Counts are int32 or int64; cast the result.`,
    );
  }
  const shape = [rows];
  const device = coreOf(index.device);
  if (out !== undefined) checkOut(out, { shape, dtype, device }, [index], what);
  const stream = await roomOn(device, options, what);
  const copies: OwnedView[] = [];
  try {
    const by = await denseIndex(index, { stream, signal }, copies, what);
    return await denseResult({ device, shape, dtype, stream, out, signal }, async (to) => {
      const sizes = { count: index.size, rows };
      const program = await loadProblem(
        device,
        {
          key: `count-rows ${index.dtype} ${dtype} ${sizes.count} ${rows}`,
          plan: (limits) => planCountRows({ index: index.dtype, to: dtype, ...sizes }, limits),
          emit: emitCountRows,
        },
        { debug, signal, values: index.size },
      );
      const { plan } = program;
      await waitForRoom(stream, signal);
      const pointers = { index: memoryAt(by, 0), out: memoryAt(to, 0) };
      if (plan.needsZeros) await enqueueFill(device, to, 0, stream, signal);
      launchProgram(program, stream, pointers, countRowsScalars(plan, sizes));
    });
  } finally {
    for (const copy of copies) copy.storage.dispose();
  }
}
