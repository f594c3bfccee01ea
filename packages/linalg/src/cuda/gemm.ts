import type { ProductCompute } from '@mercer/cuda-runtime';
import { dtypeBytes, empty, type Storage, type Tensor } from '@mercer/tensor';
import { productWorkspace } from '@mercer/tensor/cuda';
import type { CallSteps, CallView, Enqueuing, RoutineCall } from '@mercer/tensor/operation';
import type { Setting } from '../checks.js';
import { matrixOperand, type MatrixLayout, type PlannedMatrix } from '../operand.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall, Within } from './cuda-call.js';
import { enqueueProduct, libraryProduct, type Lying } from './gemm/enqueue-product.js';
import {
  enqueueSplitProduct,
  isSplittable,
  type SplitProduct,
} from './gemm/enqueue-split-product.js';
import { placeOf } from './gemm/strided.js';
import { clear } from './scratch.js';

type GemmCall = CudaCall<FieldsOf<'gemm'>>;

/** c = alpha a b + beta c by cuBLASLt, which only enqueues, in the operands' dtype. */
export const gemm = (call: GemmCall): Enqueuing => run(call, enqueueProduct);

/** The same for float32 on tensor cores, with operands rounded to 11 bits. */
export const gemmTf32 = (call: GemmCall): Enqueuing =>
  run(call, (setting, within, product, workspace) =>
    enqueueProduct(setting, within, { ...product, compute: 'tf32' }, workspace),
  );

/** The same for float32 on tensor cores, to float32's accuracy. Needs memory for the factors' parts. */
export const gemmTf32x3 = (call: GemmCall): Enqueuing => run(call, enqueueSplitProduct);

/** Bytes of all results of a product. */
const resultBytes = (
  { dtype, batchShape }: Setting,
  { rows, columns }: Pick<MatrixLayout, 'rows' | 'columns'>,
): number => dtypeBytes(dtype) * batchShape.reduce((all, one) => all * one, rows * columns);

/** Enqueues a product of operands that the library takes. */
type Enqueue = (
  setting: Setting,
  within: Within,
  product: SplitProduct,
  workspace: Storage | undefined,
) => Enqueuing;

/** As in BLAS, a and b are not read where alpha is 0, nor c where beta is. */
function* run(call: GemmCall, enqueue: Enqueue): Enqueuing {
  const { setting, stream, args } = call;
  const { a, b, c, alpha, beta } = args;
  if (c.rows === 0 || c.columns === 0 || setting.batchShape.includes(0)) return;
  if (a.columns === 0 || alpha === 0) {
    yield* scale(call, c, beta);
    return;
  }
  using workspace = productWorkspace(stream, resultBytes(setting, c), a.columns);
  yield* enqueue(setting, call, { a, b, c, alpha, beta }, workspace);
}

/**
 * The same for calls that come again with matrices that lie alike, without the generators that a small product would spend its time on.
 * Undefined where one call of the library is not all of it.
 */
export function productNow(
  setting: Setting,
  { a, b, c }: Readonly<Record<'a' | 'b' | 'c', MatrixLayout>>,
  compute?: ProductCompute,
): ((call: RoutineCall) => void) | undefined {
  if (c.rows === 0 || c.columns === 0 || a.columns === 0 || setting.batchShape.includes(0)) {
    return undefined;
  }
  const { groups, launch } = libraryProduct(setting, { a, b, c }, compute);
  const [group, more] = groups;
  if (group === undefined || more !== undefined) return undefined;
  const [bytes, terms] = [resultBytes(setting, c), a.columns];
  const of = (memory: Tensor | undefined): { readonly memory: Tensor } => {
    if (memory === undefined) throw new TypeError('a product has not all its matrices');
    return { memory };
  };
  return ({ stream, memory, scalars: { alpha = 1, beta = 0 } }) => {
    using workspace = productWorkspace(stream, bytes, terms);
    const [a, b, c] = [of(memory['a']), of(memory['b']), of(memory['c'])];
    launch(stream, { a, b, c, alpha, beta }, group, workspace);
  };
}

/** c = beta c, for sums without a term: the product of zeros is added. */
function* scale(call: GemmCall, c: Lying, beta: number): Enqueuing {
  const { setting, stream } = call;
  if (beta === 1) return;
  const { dtype, device, batchShape } = setting;
  using zeros = empty([1, Math.max(c.rows, c.columns)], { dtype, device, stream });
  clear(call, zeros);
  const b = { ...matrixOperand(zeros, batchShape), columns: c.columns };
  const a = { ...b, rows: c.rows, columns: 1, rowStride: 1 };
  using workspace = productWorkspace(stream, resultBytes(setting, c), 1);
  yield* enqueueProduct(setting, call, { a, b, c, alpha: 1, beta }, workspace);
}

/** Whether a routine reads a factor as it lies. */
const isReadable = (name: string, batchShape: readonly number[], factor: MatrixLayout): boolean =>
  name === 'gemmTf32x3' ? isSplittable(batchShape, factor) : placeOf(factor) !== undefined;

/** A factor where it lies, or a copy of the matrices that differ. */
export function readableFactor(
  steps: CallSteps,
  name: string,
  factor: PlannedMatrix,
  batchShape: readonly number[],
): PlannedMatrix {
  if (isReadable(name, batchShape, factor)) return factor;
  const { memory, rows, columns, rowStride, columnStride } = factor;
  const from = onlyOnce({
    ...memory,
    shape: [...memory.shape.slice(0, -2), rows, columns],
    strides: [...memory.strides.slice(0, -2), rowStride, columnStride],
  });
  return matrixOperand(steps.spreadCopy(from, from.shape), batchShape);
}

/** The result where it lies, or scratch memory for it, which is copied home by what is given. */
export function writableResult(
  steps: CallSteps,
  result: PlannedMatrix,
  keep: boolean,
  batchShape: readonly number[],
): { readonly c: PlannedMatrix; readonly commit: () => void } {
  if (placeOf(result) !== undefined) return { c: result, commit: () => undefined };
  const home = result.memory;
  const memory = steps.scratchMemory(home);
  if (keep) steps.copy(home, memory);
  const commit = (): void => {
    steps.copy(memory, home);
  };
  return { c: matrixOperand(memory, batchShape), commit };
}

/** A view without the repetition of batch axes of stride 0. */
function onlyOnce(view: CallView): CallView {
  const { shape, strides } = view;
  const shortened = shape.map((extent, axis) =>
    axis < shape.length - 2 && extent > 1 && strides[axis] === 0 ? 1 : extent,
  );
  return { ...view, shape: shortened };
}
