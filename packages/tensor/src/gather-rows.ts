import { pending, type Pending } from './pending.js';
import { emitGatherRows, planGatherRows, type DType, type IndexDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { denseResult } from './dense-result.js';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { memoryAt } from './elementwise.js';
import { coreOf, roomOn, type OwnedView } from './operations.js';
import { launchProgram, loadProblem } from './program.js';
import { waitForRoom } from './stream-core.js';
import { readOptions } from './read-options.js';
import { checkHasRows, checkIndex, denseIndex, rowsOf } from './row-index.js';
import { OUT_OPTION, assertTensor, type OutOption, type Tensor } from './tensor.js';
import { checkOut, commonDevice } from './tensor-checks.js';

/** Options of {@link gatherRows}. */
export interface GatherRowsOptions<D extends DType = DType> extends OutOption<D>, LoadOptions {}

const GATHER_ROWS_OPTIONS: OptionNames<GatherRowsOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS };

/**
 * Rows by index: row n of the result is `x[index[n]]`, bit by bit. Where x has no such row (an index below 0 or not below the
 * number of rows) it is NaN, and 0 for dtypes without one: a device that must not wait for the host cannot throw.
 *
 * ```ts
 * import { gatherRows, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1, 2], [3, 4]], where);
 * const index = await tensor(Int32Array.of(1, 1, 7), where);
 * console.log(await (await gatherRows(x, index)).toNested()); // [ [ 3, 4 ], [ 3, 4 ], [ NaN, NaN ] ]
 * ```
 *
 * @param x (rows, ...rest) of any dtype and strides; where the elements of a row are not dense they are copied first
 * @param index int32 or int64 (N), at most 2^31 - 1 entries
 * @returns (N, ...rest), row-major, or `out`
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED
 */
export function gatherRows<D extends DType>(
  x: Tensor<D>,
  index: Tensor<IndexDType>,
  options?: GatherRowsOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  return pending(gathered(x, index, options));
}

async function gathered<D extends DType>(
  x: Tensor<D>,
  index: Tensor<IndexDType>,
  options?: GatherRowsOptions<NoInfer<D>>,
): Promise<Tensor<D>> {
  options = readOptions('gatherRows', options, GATHER_ROWS_OPTIONS);
  const what = 'gatherRows';
  const { out, debug, signal } = options;
  assertTensor(x, `${what}: x`);
  checkHasRows(x, 'x', what);
  checkIndex(index, what);
  const { dtype } = x;
  const shape = [index.size, ...x.shape.slice(1)];
  const device = coreOf(commonDevice([x, index], what));
  if (out !== undefined) checkOut(out, { shape, dtype, device }, [x, index], what);
  const stream = await roomOn(device, options, what);
  const copies: OwnedView[] = [];
  try {
    const table = await rowsOf(x, { stream, signal }, copies, what);
    const by = await denseIndex(index, { stream, signal }, copies, what);
    return await denseResult({ device, shape, dtype, stream, out, signal }, async (to) => {
      const program = await loadProblem(
        device,
        {
          key: `gather-rows ${dtype} ${index.dtype}`,
          plan: (limits) => planGatherRows({ dtype, index: index.dtype }, limits),
          emit: emitGatherRows,
        },
        { debug, signal, values: index.size * table.columns },
      );
      await waitForRoom(stream, signal);
      const pointers = { x: memoryAt(table.view, 0), index: memoryAt(by, 0), out: memoryAt(to, 0) };
      const { columns, stride: tableStride } = table;
      const scalars = { count: index.size, rows: x.shape[0] ?? 0, columns, tableStride };
      launchProgram(program, stream, pointers, scalars);
    });
  } finally {
    for (const copy of copies) copy.storage.dispose();
  }
}
