import type { Pending } from './pending.js';
import {
  emitScatterAdd,
  planScatterAdd,
  scatterAddScalars,
  type IndexDType,
  type SumDType,
} from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { LOAD_OPTIONS, type LoadOptions } from './device.js';
import { sizeOfShape } from './checked-size.js';
import { CallSteps, pointerAt, type CallView } from './operation/call-steps.js';
import { keyPart, Operation, operationFunction } from './operation/operation.js';
import { MercerError } from './mercer-error.js';
import { coreOf } from './operations.js';
import {
  checkHasRows,
  checkIndex,
  checkRowCount,
  checkSameLength,
  denseIndex,
  rowsOf,
  type RowsView,
} from './row-index.js';
import { checkDType } from './check-argument.js';
import { OUT_OPTION, assertTensor, type OutOption, type Tensor } from './tensor.js';
import { checkOut, commonDevice } from './tensor-checks.js';

/** Options of {@link scatterAdd}. */
export interface ScatterAddOptions<D extends SumDType = SumDType>
  extends OutOption<D>, LoadOptions {
  /** Of the result; default: that of `out`, else that of the values. */
  readonly dtype?: D | undefined;
  /**
   * Default true: the same inputs give the same bits on a device, on the CPU whatever runs kernels with formulas. With false a GPU adds by atomic operations, in any order
   * and rounding each time to the result's dtype: quicker where few entries meet in a row, slower where many do.
   */
  readonly deterministic?: boolean | undefined;
}

const SCATTER_ADD_OPTIONS: OptionNames<ScatterAddOptions> = {
  ...OUT_OPTION,
  dtype: true,
  deterministic: true,
  ...LOAD_OPTIONS,
};

type Arguments = readonly [values: Tensor<SumDType>, index: Tensor<IndexDType>, rows: number];

const operation = new Operation<Arguments, ScatterAddOptions>({
  what: 'scatterAdd',
  options: SCATTER_ADD_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([values, index, rows], { out, dtype, deterministic }) => {
    // What is no number of rows is refused by the checks, as is what is no dtype.
    const [part, flag] = [keyPart(dtype), keyPart(deterministic)];
    if (typeof rows !== 'number' || part === undefined || flag === undefined) return undefined;
    const key = `${rows} ${part} ${flag}`;
    return { key, tensors: { inputs: [values, index], outs: [out] } };
  },
  plan: ([values, index, rows], options) => {
    const { out, deterministic = true } = options;
    const what = 'scatterAdd';
    const dtype = checkArguments(values, index, rows, options);
    if (typeof deterministic !== 'boolean') {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: deterministic is ${describeValue(deterministic)}. Pass true or false.`,
      );
    }
    const shape = [rows, ...values.shape.slice(1)];
    const inputs = [values, index];
    const device = coreOf(commonDevice(inputs, what));
    if (out !== undefined) checkOut(out, { shape, dtype, device }, inputs, what);
    const tensors = { inputs, outs: [out] };
    const steps = new CallSteps(device, tensors);
    const terms = rowsOf(steps, 0);
    const by = denseIndex(steps, 1);
    const to = steps.rowMajorResult({ shape, dtype });
    addScatterAdd(steps, { terms, by, rows, to, deterministic });
    return { tensors, steps };
  },
});

/** Sums of rows in a call. */
export interface ScatteredRows {
  readonly terms: RowsView;
  /** Which row each is added to: dense, of an index dtype. */
  readonly by: CallView;
  readonly rows: number;
  /** Dense. */
  readonly to: CallView;
  readonly deterministic?: boolean | undefined;
}

/** Adds to a call that rows are added up by index. */
export function addScatterAdd(
  steps: CallSteps,
  { terms, by, rows, to, deterministic = true }: ScatteredRows,
): void {
  const { view, columns, stride: valueStride } = terms;
  const [from, sum, index] = [view.dtype as SumDType, to.dtype as SumDType, by.dtype as IndexDType];
  const sizes = { count: sizeOfShape(by.shape), rows, columns, valueStride };
  const plan = planScatterAdd(
    { from, to: sum, index, deterministic, ...sizes },
    steps.device.limits,
  );
  steps.addPlan(
    `scatter-add ${from} ${sum} ${index} ${deterministic} ${sizes.count} ${rows} ${columns}`,
    plan,
    emitScatterAdd,
    {
      values: sizes.count * columns,
      pointers: { values: pointerAt(view), index: pointerAt(by), out: pointerAt(to) },
      scalars: scatterAddScalars(plan, sizes),
      zeroed: plan.needsZeros ? to : undefined,
    },
  );
}

/** How {@link scatterAdd} is called. */
export interface ScatterAdd {
  <D extends SumDType, R extends SumDType = D>(
    values: Tensor<D>,
    index: Tensor<IndexDType>,
    rows: number,
    options?: ScatterAddOptions<R>,
  ): Pending<Tensor<R>>;
  /**
   * Compiles for tensors like these and gives a synchronous function, for the same numbers of entries, rows and columns; each call names its own out and
   * stream.
   */
  readonly prepare: <D extends SumDType, R extends SumDType = D>(
    values: Tensor<D>,
    index: Tensor<IndexDType>,
    rows: number,
    options?: ScatterAddOptions<R>,
  ) => Promise<
    (
      values: Tensor<D>,
      index: Tensor<IndexDType>,
      rows: number,
      options?: OutOption<R>,
    ) => Tensor<R>
  >;
}

/** See `scatterAdd` of `rows-by-index.ts`. */
export const scatterAdd: ScatterAdd = operationFunction(operation, 3);

/** Checks the arguments and gives the dtype of the result. */
function checkArguments(
  values: Tensor<SumDType>,
  index: Tensor<IndexDType>,
  rows: number,
  { dtype, out }: ScatterAddOptions,
): SumDType {
  const what = 'scatterAdd';
  assertTensor(values, `${what}: values`);
  if (!isSumDType(values.dtype)) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: values are ${(values as Tensor).label}. Sums are taken of float32 and float64; call cast('float32') first.`,
    );
  }
  checkHasRows(values, 'values', what);
  checkIndex(index, what);
  checkSameLength(values, index, what);
  checkRowCount(rows, what);
  if (out !== undefined) assertTensor(out, `${what}: out`);
  const wanted = checkDType(dtype ?? out?.dtype ?? values.dtype, what);
  if (isSumDType(wanted)) return wanted;
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: the result cannot be ${String(wanted)}. Sums are float32 or float64; cast the result.`,
  );
}

const isSumDType = (dtype: string): dtype is SumDType => dtype === 'float32' || dtype === 'float64';
