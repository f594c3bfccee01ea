import type { MapReduceProblem, Scalars } from '@mercer/kernels';
import { strideOverBatch } from '../batch-stride.js';
import type { Layout } from '../layout.js';
import { pointerAt, type CallView } from '../operation/call-steps.js';
import type { CallPointer } from '../operation/known-call.js';

/** Sizes of a call over all pairs of rows i and j, and what it computes in. A side that no input follows has one row. */
export interface PairSizes {
  readonly dtype: MapReduceProblem['dtype'];
  readonly rowsI: number;
  readonly rowsJ: number;
  readonly batchShape: readonly number[];
  /** The product of `batchShape`. */
  readonly batch: number;
}

/** How a kernel reads an input (..batch, rows, dim), or values of pairs (..batch, M, N, dim): elements between rows, and between batch entries. */
export interface PairOperand {
  /** Of values of pairs from one i to the next. */
  readonly rowStride: number;
  /** Of values of pairs from one j to the next. */
  readonly columnStride: number | undefined;
  /** 0 broadcasts. */
  readonly batchStride: number;
}

/** An input (..batch, rows, dim) of a formula, or one with values of pairs (..batch, M, N, dim), and how it is read. */
export interface PairInput {
  readonly view: CallView;
  readonly operand: PairOperand;
}

/** How an input is read where it lies, or undefined where it has to be copied first. Values of pairs have three axes of their own. */
export function pairOperand(
  { shape, strides }: Pick<Layout, 'shape' | 'strides'>,
  { batch, batchShape }: Pick<PairSizes, 'batch' | 'batchShape'>,
  ownAxes: 2 | 3 = 2,
): PairOperand | undefined {
  const [dim = 1, step = 1] = [shape.at(-1), strides.at(-1)];
  const [rows = 1, rowStride = 0] = [shape.at(-ownAxes), strides.at(-ownAxes)];
  if (dim > 1 && step !== 1) return undefined;
  const batchStride =
    batch <= 1
      ? 0
      : strideOverBatch(shape.slice(0, -ownAxes), strides.slice(0, -ownAxes), batchShape);
  if (batchStride === undefined || batchStride < 0) return undefined;
  if (ownAxes === 3) {
    const columnStride = strides.at(-2) ?? 0;
    return Math.min(rowStride, columnStride) < 0
      ? undefined
      : { rowStride, columnStride, batchStride };
  }
  if (rows <= 1) return { rowStride: dim, columnStride: undefined, batchStride };
  return rowStride < 0 ? undefined : { rowStride, columnStride: undefined, batchStride };
}

/** The inputs that are stored in 16 bits, by place. */
export function halfStorage(
  inputs: readonly (Pick<PairInput, 'view'> | undefined)[],
): Record<number, 'float16' | 'bfloat16'> {
  const storage: Record<number, 'float16' | 'bfloat16'> = {};
  for (const [place, input] of inputs.entries()) {
    const dtype = input?.view.dtype;
    if (dtype === 'float16' || dtype === 'bfloat16') storage[place] = dtype;
  }
  return storage;
}

/** What kernels over pairs of rows are launched with but for their results; `inputs` by place, undefined where no formula has it. */
export function pairArguments(
  { rowsI, rowsJ, batch }: PairSizes,
  inputs: readonly (PairInput | undefined)[],
): { readonly pointers: Record<string, CallPointer>; readonly scalars: Scalars } {
  const pointers: Record<string, CallPointer> = {};
  const scalars: Record<string, number> = { rowsI, rowsJ, batch };
  for (const [place, input] of inputs.entries()) {
    if (input === undefined) continue;
    const { view, operand } = input;
    pointers[`x${place}`] = pointerAt(view);
    scalars[`ld${place}`] = operand.rowStride;
    scalars[`batchStride${place}`] = operand.batchStride;
    const { columnStride } = operand;
    if (columnStride !== undefined) scalars[`columnStride${place}`] = columnStride;
    // Of a table whose rows are taken by index.
    scalars[`rows${place}`] = view.shape.at(-2) ?? 1;
  }
  return { pointers, scalars };
}
