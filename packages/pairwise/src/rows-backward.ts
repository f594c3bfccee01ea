import { emitRowsGradient, planRowsGradient, type PairwiseDType } from '@mercer/kernels';
import { empty, isTensor, type Tensor } from '@mercer/tensor';
import { launchProgram, loadPlan } from '@mercer/tensor/operation';
import type { BackwardOperand } from './backward-operands.js';
import { sumTo, type SumPlace } from './backward-sum.js';
import { parameterBatch } from './kernel-parameter.js';
import type { PairwiseShape } from './operands.js';
import { bindScale } from './row-scale.js';
import type { ParameterValue } from './run-kernel-options.js';

/** How the rows of an operand were prepared, and the operand itself. */
export interface PreparedBy {
  readonly what: string;
  readonly normalise: boolean;
  readonly scale: ParameterValue | undefined;
  readonly x: BackwardOperand;
  /** Rows of the operand. */
  readonly rows: number;
}

/**
 * From the gradient of prepared rows, a row-major (..., rows, K) over the whole batch, the gradient of the rows themselves in
 * their shape.
 */
export async function unpreparedRows(
  by: PreparedBy,
  upstream: Tensor,
  shape: PairwiseShape,
  place: SumPlace,
): Promise<Tensor> {
  const each = await contributions(by, upstream, 'x', shape, place);
  return sumTo(each, by.x.shape, shape.dtype, place);
}

/** From the same, the gradient of the scale in its shape, [] for a number. */
export async function scaleGradient(
  by: PreparedBy,
  upstream: Tensor,
  shape: PairwiseShape,
  place: SumPlace,
): Promise<Tensor> {
  const each = await contributions(by, upstream, 'scale', shape, place);
  const own = isTensor(by.scale) ? by.scale.shape : [];
  // One axis for the rows, which scale does not have, in front of the features.
  const [lead, features] = [own.slice(0, -1), own.at(-1) ?? 1];
  const batch = parameterBatch(lead);
  using total = await sumTo(each, [...batch, 1, features], shape.dtype, place);
  return total.reshape(own);
}

async function contributions(
  { what, normalise, scale, x, rows }: PreparedBy,
  upstream: Tensor,
  target: 'x' | 'scale',
  shape: PairwiseShape,
  { stream, debug, signal }: SumPlace,
): Promise<Tensor<PairwiseDType>> {
  const { dtype, device, batchShape, batch, k } = shape;
  const plan = planRowsGradient({ dtype, normalise, target }, device.limits);
  const loaded = await loadPlan(device, plan, emitRowsGradient, {
    debug,
    signal,
    values: rows * k * batch,
  });
  const bound = scale === undefined ? undefined : bindScale(what, scale, shape);
  await stream.room({ signal });
  const out = empty([...batchShape, rows, k], { dtype, device, stream });
  try {
    launchProgram(
      loaded,
      stream,
      { x: x.tensor, dy: upstream, out, scaleAt: bound?.pointer ?? 0n },
      {
        m: rows,
        k,
        batch,
        rowStrideX: x.rowStride,
        stepStrideX: x.columnStride,
        batchStrideX: x.batchStride,
        scaleValue: bound?.value ?? 1,
        scaleBatchStride: bound?.batchStride ?? 0,
        scaleStride: bound?.stride ?? 0,
      },
    );
    return out;
  } catch (error) {
    out.dispose();
    throw error;
  }
}
