import { dtypeBytes, emitRows, planRows, type RowsPlan } from '@mercer/kernels';
import { empty, type Stream, type Tensor } from '@mercer/tensor';
import {
  launchProgram,
  loadPlan,
  type CallLoadOptions,
  type LoadedProgram,
} from '@mercer/tensor/operation';
import type { Bound } from './bound-rows.js';
import type { Operand, PairwiseShape } from './operands.js';
import type { PairwiseSpec } from './pairwise-spec.js';
import { bindScale, type BoundScale } from './row-scale.js';

/** The kernel that prepares the rows of one operand. */
export type LoadedRows = LoadedProgram<RowsPlan>;

/** How a pairwise kernel reads prepared rows: row-major, every row at a multiple of 16 bytes. */
export function rowsOperand({ dtype, k }: PairwiseShape, rows = 1, batchStride = 0): Operand {
  const perVector = 16 / dtypeBytes(dtype);
  const leadingStride = Math.ceil(k / perVector) * perVector;
  return {
    layout: 'row',
    leadingStride,
    batchStride: batchStride * rows * leadingStride,
    aligned: true,
  };
}

/** The plan that scales and normalises `rows` rows of an operand. */
export function rowsPlan(
  { normalise, scale }: NonNullable<PairwiseSpec['rows']>,
  { dtype, device, k, batch }: PairwiseShape,
  rows: number,
  { layout }: Operand,
): RowsPlan {
  const problem = { dtype, m: rows, k, batch, layout, scale: scale !== undefined, normalise };
  return planRows(problem, device.limits);
}

/** Plans and loads that kernel. */
export function loadRows(
  spec: NonNullable<PairwiseSpec['rows']>,
  shape: PairwiseShape,
  rows: number,
  operand: Operand,
  options: CallLoadOptions,
): Promise<LoadedRows> {
  return loadPlan(shape.device, rowsPlan(spec, shape, rows, operand), emitRows, options);
}

/**
 * Enqueues the preparation of an operand's rows into new memory, which is pushed to `made`. What is the same for every batch
 * entry is prepared once.
 *
 * @throws MercerError as `bindScale` does, OUT_OF_MEMORY
 */
export function preparedRows(
  loaded: LoadedRows,
  { what, rows: spec }: PairwiseSpec,
  shape: PairwiseShape,
  rows: number,
  { tensor, operand }: Bound,
  stream: Stream,
  made: Tensor[],
): Bound {
  const { dtype, device, k } = shape;
  const scale = spec?.scale;
  const factors: BoundScale = scale === undefined ? UNSCALED : bindScale(what, scale, shape);
  const own = operand.batchStride !== 0 || factors.batchStride !== 0;
  const batch = own ? shape.batch : 1;
  const target = rowsOperand(shape, rows, own ? 1 : 0);
  const out = empty([batch, rows, target.leadingStride], { dtype, device, stream });
  made.push(out);
  const scalars = {
    m: rows,
    k,
    batch,
    ldx: operand.leadingStride,
    ldo: target.leadingStride,
    batchStrideX: operand.batchStride,
    batchStrideOut: target.batchStride,
    scaleBatchStride: factors.batchStride,
    scaleStride: factors.stride,
    scaleValue: factors.value,
  };
  launchProgram(loaded, stream, { x: tensor, out, scaleAt: factors.pointer }, scalars);
  return { tensor: out, operand: target };
}

const UNSCALED: BoundScale = { pointer: 0n, batchStride: 0, stride: 0, value: 1 };
