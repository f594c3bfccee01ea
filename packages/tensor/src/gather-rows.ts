import type { Pending } from './pending.js';
import { emitGatherRows, planGatherRows, type DType, type IndexDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { CallSteps, pointerAt } from './operation/call-steps.js';
import { Operation, operationFunction } from './operation/operation.js';
import { coreOf } from './operations.js';
import { checkHasRows, checkIndex, denseIndex, rowsOf } from './row-index.js';
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
      const { view, columns, stride: tableStride } = rowsOf(steps, 0);
      const by = denseIndex(steps, 1);
      const to = steps.rowMajorResult({ shape, dtype });
      steps.addPlan(
        `gather-rows ${dtype} ${index.dtype}`,
        planGatherRows({ dtype, index: index.dtype }, device.limits),
        emitGatherRows,
        {
          values: index.size * columns,
          pointers: { x: pointerAt(view), index: pointerAt(by), out: pointerAt(to) },
          scalars: { count: index.size, rows: x.shape[0] ?? 0, columns, tableStride },
        },
      );
      return { tensors, steps };
    },
  },
);

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
