import type { Stream, Tensor } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';

/** `a b` added to `sum`, which is written over, or alone where there is none; a handle of its own in both cases. */
export async function productOnto<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<D>,
  sum: Tensor<D> | undefined,
  stream: Stream | undefined,
): Promise<Tensor<D>> {
  if (sum === undefined) return matmul(a, b, { stream });
  await matmul(a, b, { beta: 1, out: sum, stream });
  return sum.view();
}
