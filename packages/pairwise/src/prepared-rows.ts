import { emitRows, type Scalars } from '@mercer/kernels';
import { isTensor } from '@mercer/tensor';
import { pointerAt, type CallPointer, type CallView } from '@mercer/tensor/operation';
import type { CallInputs } from './call-inputs.js';
import { NOWHERE } from './launch-values.js';
import type { MatrixOperand, PairwiseShape } from './operands.js';
import type { PairwiseSpec } from './pairwise-spec.js';
import { rowsOperand, rowsPlan } from './row-preparation.js';
import { checkScale, scaleStrides } from './row-scale.js';

/** Rows as a kernel of a call reads them. */
export interface BoundRows {
  readonly view: CallView;
  readonly operand: MatrixOperand;
}

/** The factors of the features as a step takes them. */
export interface BoundScale {
  readonly pointer: CallPointer;
  readonly scalars: Scalars & { readonly scaleBatchStride: number };
}

/** @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH, SHAPE_MISMATCH, DISPOSED, NOT_CONTIGUOUS */
export function boundScale(
  inputs: CallInputs,
  { rows }: PairwiseSpec,
  shape: PairwiseShape,
): BoundScale {
  const scale = rows?.scale;
  const bound = (pointer: CallPointer, batchStride: number, stride: number, value: number) => ({
    pointer,
    scalars: { scaleBatchStride: batchStride, scaleStride: stride, scaleValue: value },
  });
  if (!isTensor(scale)) return bound(NOWHERE, 0, 0, scale ?? 1);
  checkScale(inputs.what, scale, shape);
  const strides = scaleStrides(scale, shape);
  if (strides !== undefined) {
    return bound(pointerAt(inputs.view(scale)), strides.batchStride, strides.stride, 0);
  }
  const { batchShape, batch, k } = shape;
  const copy = inputs.spread('scale', scale, [...batchShape, k]);
  return bound(pointerAt(copy), batch === 1 ? 0 : k, 1, 0);
}

/** Prepares an operand's rows in scratch memory. What is the same for every batch entry is prepared once. */
export function preparedRows(
  { steps }: CallInputs,
  role: 'a' | 'b',
  rows: NonNullable<PairwiseSpec['rows']>,
  scale: BoundScale,
  shape: PairwiseShape,
  { view, operand }: BoundRows,
): BoundRows {
  const { dtype, k } = shape;
  const count = role === 'a' ? shape.m : shape.n;
  const own = operand.batchStride !== 0 || scale.scalars.scaleBatchStride !== 0;
  const batch = own ? shape.batch : 1;
  const target = rowsOperand(shape, count, own ? 1 : 0);
  const out = steps.scratchMemory({ shape: [batch, count, target.leadingStride], dtype });
  const kind = `rows ${role} ${dtype} ${k} ${operand.layout} ${rows.scale !== undefined} ${rows.normalise}`;
  steps.addProgram(
    {
      key: `${kind} ${count} ${shape.batch}`,
      plan: () => rowsPlan(rows, shape, count, operand),
      emit: emitRows,
    },
    {
      values: count * k * shape.batch,
      pointers: { x: pointerAt(view), out: pointerAt(out), scaleAt: scale.pointer },
      scalars: {
        m: count,
        k,
        batch,
        ldx: operand.leadingStride,
        ldo: target.leadingStride,
        batchStrideX: operand.batchStride,
        batchStrideOut: target.batchStride,
        ...scale.scalars,
      },
    },
    { program: kind },
  );
  return { view: out, operand: target };
}
