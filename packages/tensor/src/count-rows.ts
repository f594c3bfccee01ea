import type { Pending } from './pending.js';
import { countRowsScalars, emitCountRows, planCountRows, type IndexDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { CallSteps, pointerAt } from './operation/call-steps.js';
import { keyPart, Operation, operationFunction } from './operation/operation.js';
import { MercerError } from './mercer-error.js';
import { coreOf } from './operations.js';
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

const operation = new Operation<
  readonly [index: Tensor<IndexDType>, rows: number],
  CountRowsOptions
>({
  what: 'countRows',
  options: COUNT_ROWS_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([index, rows], { out, dtype }) => {
    const part = keyPart(dtype);
    if (typeof rows !== 'number' || part === undefined) return undefined;
    return { key: `${rows} ${part}`, tensors: { inputs: [index], outs: [out] } };
  },
  plan: ([index, rows], options) => {
    const { out } = options;
    const what = 'countRows';
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
    const inputs = [index];
    const device = coreOf(index.device);
    if (out !== undefined) checkOut(out, { shape, dtype, device }, inputs, what);
    const tensors = { inputs, outs: [out] };
    const steps = new CallSteps(device, tensors);
    const by = denseIndex(steps, 0);
    const to = steps.rowMajorResult({ shape, dtype });
    const sizes = { count: index.size, rows };
    const plan = planCountRows({ index: index.dtype, to: dtype, ...sizes }, device.limits);
    steps.addPlan(
      `count-rows ${index.dtype} ${dtype} ${sizes.count} ${rows}`,
      plan,
      emitCountRows,
      {
        values: index.size,
        pointers: { index: pointerAt(by), out: pointerAt(to) },
        scalars: countRowsScalars(plan, sizes),
        zeroed: plan.needsZeros ? to : undefined,
      },
    );
    return { tensors, steps };
  },
});

/** How {@link countRows} is called. */
export interface CountRows {
  <D extends IndexDType = 'int32'>(
    index: Tensor<IndexDType>,
    rows: number,
    options?: CountRowsOptions<D>,
  ): Pending<Tensor<D>>;
  /**
   * Compiles for an index like this and gives a synchronous function, for the same numbers of entries and rows; each call names its own out and
   * stream.
   */
  readonly prepare: <D extends IndexDType = 'int32'>(
    index: Tensor<IndexDType>,
    rows: number,
    options?: CountRowsOptions<D>,
  ) => Promise<(index: Tensor<IndexDType>, rows: number, options?: OutOption<D>) => Tensor<D>>;
}

/** See rows-by-index.ts. */
export const countRows: CountRows = operationFunction(operation, 2);
