import { readableFactor, writableResult } from './cuda/gemm.js';
import type { PlannedMatrix } from './operand.js';
import type { PlannedCall } from './planned-call.js';

/** The factors and the result of a product. */
export interface PlannedProduct {
  readonly a: PlannedMatrix;
  readonly b: PlannedMatrix;
  readonly c: PlannedMatrix;
}

/**
 * Plans c = a b, whose calls may give other numbers than alpha = 1 and beta = 0. On a GPU operands without a contiguous axis are copied
 * first, and a result without one is computed beside its memory.
 *
 * @param keep whether c is read
 */
export function planProduct(
  call: PlannedCall,
  { a, b, c }: PlannedProduct,
  name: 'gemm' | 'gemmTf32' | 'gemmTf32x3' = 'gemm',
  keep = false,
): void {
  const { setting, steps } = call;
  const { device, batchShape } = setting;
  const numbers = { alpha: 1, beta: 0 };
  if (device.kind === 'cpu') {
    call.run(name, { a, b, c, ...numbers });
    return;
  }
  const target = writableResult(steps, c, keep, batchShape);
  const left = readableFactor(steps, name, a, batchShape);
  const right = readableFactor(steps, name, b, batchShape);
  call.run(name, { a: left, b: right, c: target.c, ...numbers });
  target.commit();
}
