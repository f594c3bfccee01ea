import type { Tensor, WorkOptions } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';

/** `a b` added to `sum`, which is written over, or alone where there is none; a handle of its own in both cases. */
export async function productOnto<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<D>,
  sum: Tensor<D> | undefined,
  within: WorkOptions,
): Promise<Tensor<D>> {
  if (sum === undefined) return matmul(a, b, within);
  await matmul(a, b, { beta: 1, out: sum, ...within });
  return sum.view();
}
