import type { Stream } from './device.js';
import type { Tensor } from './tensor.js';

/** How copies are made; they are pushed to `copies`, whose owner disposes them. */
export interface CopyTarget {
  readonly batchShape: readonly number[];
  readonly stream: Stream | undefined;
  readonly copies: Tensor[];
  readonly signal?: AbortSignal | undefined;
}

/** A tensor and how a kernel reads it. */
export interface BoundOperand<O> {
  readonly tensor: Tensor;
  readonly operand: O;
}

/**
 * A matrix (..., rows, columns) as a kernel can read it: itself where `read` gives an operand, or a row-major copy of its
 * broadcast or oddly strided view.
 */
export async function readableInput<O>(
  x: Tensor,
  read: (x: Tensor) => O | undefined,
  { batchShape, stream, copies, signal }: CopyTarget,
): Promise<BoundOperand<O>> {
  const direct = read(x);
  if (direct !== undefined) return { tensor: x, operand: direct };
  // First the plain copy; a batch that one stride cannot describe is spelled out as well.
  const packed = await x.clone({ stream, signal });
  copies.push(packed);
  const plain = read(packed);
  if (plain !== undefined) return { tensor: packed, operand: plain };
  using spread = packed.broadcastTo([...batchShape, ...x.shape.slice(-2)]);
  const full = await spread.clone({ stream, signal });
  copies.push(full);
  const operand = read(full);
  if (operand === undefined) throw new Error('a row-major copy is always readable');
  return { tensor: full, operand };
}
