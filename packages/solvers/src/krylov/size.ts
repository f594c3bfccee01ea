import type { Tensor } from '@mercer/tensor';
import type { OperatorDType } from '../operators/operator-types.js';
import { MODERATE } from './decisions.js';

/** Exponents of powers of two that are normal numbers, and whose inverses are. */
const LAST_EXPONENT = { float32: 126, float64: 1022 } as const;

/**
 * What numbers are divided by so that no square of them overflows or underflows: the power of two at their largest, by which division is exact; 1 where they are moderate,
 * or tell nothing.
 *
 * @param numbers a product of an operator with moderate vectors, or the operator's elements
 */
export async function sizeOf(numbers: Tensor<OperatorDType>): Promise<number> {
  if (numbers.size === 0) return 1;
  using most = await numbers.abs().max();
  return sizeFor(await most.item(), numbers.dtype);
}

/** The same of the largest of the numbers. */
export function sizeFor(most: number, dtype: OperatorDType): number {
  const isModerate = most >= 1 / MODERATE && most <= MODERATE;
  if (isModerate || !(most > 0 && most < Infinity)) return 1;
  const last = LAST_EXPONENT[dtype];
  return 2 ** Math.max(-last, Math.min(Math.floor(Math.log2(most)), last));
}
