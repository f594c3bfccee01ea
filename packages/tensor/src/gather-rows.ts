import type { Pending } from './pending.js';
import { emitGatherRows, planGatherRows, type DType, type IndexDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { sizeOfShape } from './checked-size.js';
import { CallSteps, pointerAt, type CallView } from './operation/call-steps.js';
import { Operation, operationFunction } from './operation/operation.js';
import { coreOf } from './operations.js';
import { checkHasRows, checkIndex, denseIndex, rowsOf, type RowsView } from './row-index.js';
import { OUT_OPTION, assertTensor, type OutOption, type Tensor } from './tensor.js';
import { checkOut, commonDevice } from './tensor-checks.js';

/** Options of {@link gatherRows}. */
export interface GatherRowsOptions<D extends DType = DType> extends OutOption<D>, LoadOptions {}

const GATHER_ROWS_OPTIONS: OptionNames<GatherRowsOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS };

const operation = new Operation<readonly [x: Tensor, index: Tensor<IndexDType>], GatherRowsOptions>(
  {
    what: 'gatherRows',
    options: GATHER_ROWS_OPTIONS,
    freeOptions: OUT_OPTION,
    identify: (inputs, { out }) => ({ key: '', tensors: { inputs, outs: [out] } }),
    plan: (inputs, { out }) => {
      const [x, index] = inputs;
      const what = 'gatherRows';
      assertTensor(x, `${what}: x`);
      checkHasRows(x, 'x', what);
      checkIndex(index, what);
      const { dtype } = x;
      const shape = [index.size, ...x.shape.slice(1)];
      const device = coreOf(commonDevice(inputs, what));
      if (out !== undefined) checkOut(out, { shape, dtype, device }, inputs, what);
      const tensors = { inputs, outs: [out] };
      const steps = new CallSteps(device, tensors);
      const table = rowsOf(steps, 0);
      const by = denseIndex(steps, 1);
      const to = steps.rowMajorResult({ shape, dtype });
      addGatherRows(steps, { table, rows: x.shape[0] ?? 0, by, to });
      return { tensors, steps };
    },
  },
);

/** Rows that are taken in a call. */
export interface GatheredRows {
  readonly table: RowsView;
  readonly rows: number;
  /** Which rows: dense, of an index dtype. */
  readonly by: CallView;
  /** Dense, of the table's dtype. */
  readonly to: CallView;
}

/** Adds to a call that rows are taken by index. */
export function addGatherRows(steps: CallSteps, { table, rows, by, to }: GatheredRows): void {
  const { view, columns, stride: tableStride } = table;
  const { dtype } = view;
  const index = by.dtype as IndexDType;
  const count = sizeOfShape(by.shape);
  steps.addPlan(
    `gather-rows ${dtype} ${index}`,
    planGatherRows({ dtype, index }, steps.device.limits),
    emitGatherRows,
    {
      values: count * columns,
      pointers: { x: pointerAt(view), index: pointerAt(by), out: pointerAt(to) },
      scalars: { count, rows, columns, tableStride },
    },
  );
}

/** How {@link gatherRows} is called. */
export interface GatherRows {
  <D extends DType>(
    x: Tensor<D>,
    index: Tensor<IndexDType>,
    options?: GatherRowsOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /**
   * Compiles for tensors like these and gives a synchronous function, for any sizes. What had to be copied, as x, index or
   * out, must lie like the example's: a prepared call has no other kernels.
   */
  readonly prepare: <D extends DType>(
    x: Tensor<D>,
    index: Tensor<IndexDType>,
    options?: GatherRowsOptions<NoInfer<D>>,
  ) => Promise<(x: Tensor<D>, index: Tensor<IndexDType>, options?: OutOption<D>) => Tensor<D>>;
}

/** See `gatherRows` of `rows-by-index.ts`. */
export const gatherRows: GatherRows = operationFunction(operation, 2);
