import { dtypeBytes, type Layout, type PairwiseDType, type PairwiseProblem } from '@mercer/kernels';
import {
  broadcastShapes,
  MercerError,
  rowMajorStrides,
  type Device,
  type Layout as StridedView,
  type Tensor,
} from '@mercer/tensor';
import {
  checkOut,
  collapseBatchStride,
  commonDevice,
  formatShape,
  strideOverBatch,
} from '@mercer/tensor/operation';
import { matrixLayout, type MatrixView } from './matrix-layout.js';

/** One operand, ready for a kernel. */
export interface MatrixOperand extends MatrixView {
  /** Elements between two batch entries; 0 broadcasts. */
  readonly batchStride: number;
  /** Address, leading stride and batch stride are multiples of 16 bytes. */
  readonly aligned: boolean;
}

/** The operands of a pairwise kernel. */
export type MatrixOperands = readonly [a: MatrixOperand, b: MatrixOperand, out: MatrixOperand];

/** Shapes of a pairwise call: a (..., M, K), b (..., N, K), result (..., M, N), unless its operation says otherwise. */
export interface PairwiseShape {
  readonly dtype: PairwiseDType;
  readonly device: Device;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batchShape: readonly number[];
  readonly batch: number;
  readonly outShape: readonly number[];
}

/** The batch axes that something beside a and b brings into a call. */
export interface NamedBatch {
  readonly label: string;
  readonly batch: readonly number[];
}

/**
 * Checks two inputs against each other, and the batch axes of the parameters, which broadcast with theirs.
 *
 * @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH or SHAPE_MISMATCH, with the offending values
 */
export function pairwiseShape(
  what: string,
  a: Tensor,
  b: Tensor,
  parameters: readonly NamedBatch[] = [],
): PairwiseShape {
  const dtype = commonDType(what, a, b);
  const device = commonDevice([a, b], what);
  checkRank(what, 'a', a);
  checkRank(what, 'b', b);
  const m = extent(a, -2);
  const k = extent(a, -1);
  const n = extent(b, -2);
  if (extent(b, -1) !== k) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: a ${formatShape(a.shape)} has ${k} features and b ${formatShape(b.shape)} has ${extent(b, -1)}. The last axes must have the same extent.`,
    );
  }
  const batchShape = parameters.reduce(
    (shape, { label, batch }) => withBatch(what, shape, label, batch),
    batchOf(what, a, b),
  );
  let batch = 1;
  for (const size of batchShape) batch *= size;
  return { dtype, device, m, n, k, batchShape, batch, outShape: [...batchShape, m, n] };
}

function checkRank(what: string, name: string, x: Tensor): void {
  if (x.rank >= 2) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${name} has shape ${formatShape(x.shape)}, and a matrix of points needs at least two axes, (..., points, features). Reshape a single point to (1, ${x.size}).`,
  );
}

/**
 * Reads an input's layout, or undefined when it needs a copy before a kernel can take it.
 */
export function inputOperand(
  x: StridedView,
  shape: Pick<PairwiseShape, 'dtype' | 'batch' | 'batchShape'>,
  preferred?: Layout,
): MatrixOperand | undefined {
  const view = matrixLayout(x.shape, x.strides, preferred);
  const batchStride =
    shape.batch <= 1
      ? 0
      : strideOverBatch(x.shape.slice(0, -2), x.strides.slice(0, -2), shape.batchShape);
  if (view === undefined || batchStride === undefined || batchStride < 0) return undefined;
  return operand(x, shape.dtype, view, batchStride);
}

/**
 * Checks an output and reads its layout.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, NOT_CONTIGUOUS or OVERLAP
 */
export function outOperand(
  what: string,
  out: Tensor,
  shape: PairwiseShape,
  inputs: readonly Tensor[],
  preferred?: Layout,
): MatrixOperand {
  const { dtype, device } = shape;
  checkOut(out, { shape: shape.outShape, dtype, device }, inputs, what);
  const view = matrixLayout(out.shape, out.strides, preferred);
  const batchStride = collapseBatchStride(shape.batchShape, out.strides.slice(0, -2));
  if (view === undefined || batchStride === undefined || batchStride < 0) {
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `${what}: out has strides ${formatShape(out.strides)}. One of its last two axes must be contiguous, no stride negative, and the batch axes evenly spaced. Compute into a new tensor and copy it.`,
    );
  }
  return operand(out, dtype, view, batchStride);
}

/** A row-major output that a call makes itself. */
export function freshOperand(
  { outShape: shape, batchShape, dtype }: PairwiseShape,
  preferred?: Layout,
): MatrixOperand {
  const out = { shape, strides: rowMajorStrides(shape), offset: 0 };
  const view = matrixLayout(shape, out.strides, preferred);
  if (view === undefined) throw new Error('a row-major output is always writable');
  return operand(out, dtype, view, collapseBatchStride(batchShape, out.strides.slice(0, -2)) ?? 0);
}

/** The scalar arguments of a pairwise kernel, parameters apart. */
export function pairwiseScalars(
  shape: PairwiseShape,
  [a, b, out]: MatrixOperands,
  p: number,
): Record<string, number> {
  return {
    m: shape.m,
    n: shape.n,
    k: shape.k,
    batch: shape.batch,
    lda: a.leadingStride,
    ldb: b.leadingStride,
    ldo: out.leadingStride,
    batchStrideA: a.batchStride,
    batchStrideB: b.batchStride,
    batchStrideOut: out.batchStride,
    p,
  };
}

/** What the planner has to know about the operands. */
export function problemLayouts([a, b, out]: MatrixOperands): Pick<
  PairwiseProblem,
  'layoutA' | 'layoutB' | 'layoutOut' | 'alignedA' | 'alignedB' | 'alignedOut'
> {
  return {
    layoutA: a.layout,
    layoutB: b.layout,
    layoutOut: out.layout,
    alignedA: a.aligned,
    alignedB: b.aligned,
    alignedOut: out.aligned,
  };
}

function operand(
  x: StridedView,
  dtype: PairwiseDType,
  view: MatrixView,
  batchStride: number,
): MatrixOperand {
  const perVector = 16 / dtypeBytes(dtype);
  const { layout, leadingStride } = view;
  const aligned =
    x.offset % perVector === 0 && leadingStride % perVector === 0 && batchStride % perVector === 0;
  return { layout, leadingStride, batchStride, aligned };
}

function commonDType(what: string, a: Tensor, b: Tensor): PairwiseDType {
  if (a.dtype !== b.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: a is ${a.dtype} and b is ${b.dtype}. Cast one of them, for example await a.cast('${b.dtype}').`,
    );
  }
  if (a.dtype === 'float32' || a.dtype === 'float64') return a.dtype;
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: the inputs are ${a.dtype}, and distances are computed in float32 or float64. Cast them first, for example await a.cast('float32').`,
  );
}

function extent(x: Tensor, axis: -1 | -2): number {
  return x.shape[x.rank + axis] ?? 1;
}

const NO_BATCH: readonly number[] = Object.freeze([]);

function batchOf(what: string, a: Tensor, b: Tensor): readonly number[] {
  if (a.rank === 2 && b.rank === 2) return NO_BATCH;
  try {
    return broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2));
  } catch (cause) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the batch axes of a ${formatShape(a.shape)} and b ${formatShape(b.shape)} do not broadcast. Each pair of extents must be equal, or one of them 1.`,
      { cause },
    );
  }
}

function withBatch(
  what: string,
  shape: readonly number[],
  label: string,
  batch: readonly number[],
): readonly number[] {
  if (batch.length === 0) return shape;
  try {
    return broadcastShapes(shape, batch);
  } catch (cause) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${label} has batch axes ${formatShape(batch)} and the data ${formatShape(shape)}. Pass one value, or a shape that broadcasts with the batch axes.`,
      { cause },
    );
  }
}
